import assert from "node:assert/strict";
import test from "node:test";
import { credentialFiles } from "#contract/names.ts";
import { type FileContent, hidden, searchPaths, surroundings } from "./search.ts";

/** Files found on a node. Files that are not listed do not exist. */
const seen = (files: Readonly<Record<string, FileContent>>) =>
  ({
    kind: "seen",
    files: {
      ...Object.fromEntries(credentialFiles.map((path) => [path, "none" as const])),
      ...files,
    },
  }) as const;
const plain = { workingDirectory: "/", home: undefined };
const atHome = { workingDirectory: "/", home: "/root" };
const nothing = { kind: "nothing" };
const file = (what: string) => ({ kind: "file", what });

test("searches in the kubelet's order: working directory, home, root, then the legacy names", () => {
  assert.deepEqual(searchPaths({ workingDirectory: "/opt", home: "/root" }), [
    "/opt/config.json",
    "/root/.docker/config.json",
    "/.docker/config.json",
    ".dockercfg",
    "/opt/.dockercfg",
    "/root/.dockercfg",
    "/.dockercfg",
  ]);
  // os.UserHomeDir() is empty without HOME, and filepath.Abs resolves a relative path in the
  // working directory.
  assert.ok(
    searchPaths({ workingDirectory: "/opt", home: undefined }).includes("/opt/.docker/config.json"),
  );
});

test("finds a credential file that a new config.json would hide from this kubelet", () => {
  for (const path of ["/config.json", "/.docker/config.json", "/.dockercfg"])
    assert.deepEqual(hidden(seen({ [path]: "entries" }), "none", plain), file(path));
  assert.deepEqual(hidden(seen({}), "none", plain), nothing);
  assert.deepEqual(hidden(seen({}), "entries", plain), file(".dockercfg"));
});

test("searches root's home only if HOME is set", () => {
  for (const path of ["/root/.docker/config.json", "/root/.dockercfg"]) {
    assert.deepEqual(hidden(seen({ [path]: "entries" }), "none", plain), nothing);
    assert.deepEqual(hidden(seen({ [path]: "entries" }), "none", atHome), file(path));
    assert.deepEqual(
      hidden(seen({ [path]: "entries" }), "none", undefined),
      file(path),
      "systemd cannot be asked",
    );
  }
});

test("stops at the first file that the kubelet can parse, even if the file has no entry", () => {
  const files = seen({ "/config.json": "empty", "/.docker/config.json": "entries" });
  assert.deepEqual(hidden(files, "entries", plain), nothing);
  assert.deepEqual(
    hidden(files, "none", undefined),
    file("/.docker/config.json"),
    "systemd cannot be asked",
  );
});

test("does not consider a file empty if it was not read or could not be read", () => {
  const link = { unknown: "it is a symbolic link" };
  assert.deepEqual(hidden(seen({ "/.docker/config.json": link }), "none", plain), {
    kind: "unknown",
    what: "/.docker/config.json: it is a symbolic link",
  });
  assert.deepEqual(hidden(seen({}), "none", { workingDirectory: "/opt", home: undefined }), {
    kind: "unknown",
    what: "it also searches /opt/config.json, which was not checked",
  });
  assert.equal(hidden({ kind: "unseen", why: "x" }, "none", plain).kind, "unknown");
  assert.equal(
    hidden({ kind: "ours" }, "entries", plain).kind,
    "nothing",
    "already hidden when the pod started",
  );
});

test("uses the working directory and home that systemd gives the unit", () => {
  const said = { workingDirectory: "", user: "", environment: [], manager: [] };
  assert.deepEqual(surroundings(said), plain);
  assert.deepEqual(surroundings({ ...said, user: "root" }), atHome);
  assert.deepEqual(surroundings({ ...said, manager: ["HOME=/root"] }), atHome);
  assert.deepEqual(
    surroundings({ ...said, user: "0", environment: ["A=b", "HOME=/opt", "HOME=/srv"] }).home,
    "/srv",
  );
  assert.deepEqual(surroundings({ ...said, user: "root", environment: ["HOME="] }).home, undefined);
  assert.deepEqual(surroundings({ ...said, workingDirectory: "!/opt" }).workingDirectory, "/opt");
  assert.deepEqual(surroundings({ ...said, workingDirectory: "~" }).workingDirectory, "/root");
  const other = hidden(seen({}), "none", surroundings({ ...said, user: "kube" }));
  assert.deepEqual(other, {
    kind: "unknown",
    what: "it also searches /home of kube/.docker/config.json, which was not checked",
  });
});
