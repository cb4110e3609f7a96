import assert from "node:assert/strict";
import test from "node:test";
import { wholeHost } from "#pullsecret/containerd/endpoints.ts";
import { parted } from "#pullsecret/containerd/hosts.ts";
import { contentWith, entry } from "#agent/facts/facts.fixture.ts";
import type { Content } from "#agent/journal/journal.ts";
import {
  changesFor,
  entriesIn,
  type HostsFile,
  placedAt,
  type Runtime,
  unremovable,
  unservedIn,
} from "./plan.ts";

const file = (text: string, mode = 0o644): HostsFile => ({
  kind: "file",
  bytes: Buffer.from(text),
  mode,
  identity: "1",
});
const runtimeWith = (directories: Readonly<Record<string, HostsFile>>): Runtime => ({
  path: "/etc/containerd",
  directories: new Map(Object.entries(directories)),
});
const content = contentWith(
  7,
  entry("a.io", "a"),
  entry("https://index.docker.io/v1/", "hub"),
  entry("b.io:5000/team", "path"),
  entry("*.c.io", "wildcard"),
  entry("orig.io", "o", true),
);
const none = { absent: true } as const;
const moved = (runtime: Runtime): Content => placedAt(content, runtime, none);

test("serves whole hosts, and leaves paths, wildcards and the original's entries in config.json", () => {
  const { entries } = moved(runtimeWith({}));
  assert.deepEqual(
    entries.map(({ place }) => place),
    ["hosts", "hosts", "file", "file", "file"],
  );
  for (const [key, registry] of [
    ["https://a.io/", "a.io"],
    ["b.io:5000", "b.io:5000"],
    ["docker.io", "docker.io"],
    ["https://index.docker.io/v1/", "docker.io"],
    ["a.io/team", undefined],
    ["*.io", undefined],
    ["registry-1.docker.io:x", undefined],
  ] as const)
    assert.equal(wholeHost(key), registry);
});

test("returns the same content if its places are right, and other content if one place is not", () => {
  const [served, runtime] = [moved(runtimeWith({})), runtimeWith({})];
  assert.equal(placedAt(served, runtime, none), served);
  assert.notEqual(placedAt(content, runtime, none), content);
  assert.deepEqual(placedAt(served, runtimeWith({ _default: file("") }), none), content);
});

const refusals: readonly (readonly [
  directories: Readonly<Record<string, HostsFile>>,
  why: RegExp,
])[] = [
  [{ "a.io": { kind: "absent", why: "it has certificates" } }, /certificates/],
  [{ "a.io": { kind: "refused", why: "it is a symbolic link", hasOurs: false } }, /symbolic link/],
  [{ "a.io": file("[header]\nAuthorization = 'x'\n") }, /Authorization/],
  [{ "a.io": file("[") }, /not TOML/],
  [{ "a.io": { ...file(""), why: "it has keys" } }, /keys/],
  [{ _default: file("") }, /_default applies/],
];
for (const [directories, why] of refusals)
  test(`leaves a registry in config.json, and reports why: ${why.source}`, () => {
    const runtime = runtimeWith(directories);
    assert.equal(moved(runtime).entries[0]?.place, "file");
    assert.match(unservedIn(content, runtime, none) ?? "", why);
    const changes = changesFor(moved(runtime), runtime, true, false);
    assert.ok(changes.every(({ directory }) => directory !== "a.io"));
  });

test("serves a registry beside the default of all registries if it has a directory of its own", () => {
  for (const found of [{ kind: "absent" }, file("")] as const)
    assert.equal(
      moved(runtimeWith({ _default: file(""), "a.io": found })).entries[0]?.place,
      "hosts",
    );
});

test("serves a registry whose certificates containerd does not read, because its hosts.toml has a text", () => {
  const written = { ...file('server = "https://a.io"\n'), why: "it has certificates" };
  assert.equal(moved(runtimeWith({ "a.io": written })).entries[0]?.place, "hosts");
});

test("writes into both directories of a registry, because containerd uses the other once one is gone", () => {
  const runtime = runtimeWith({ "b.io_5000_": file(""), "b.io:5000": file("") });
  const served = placedAt(contentWith(7, entry("b.io:5000", "b")), runtime, none);
  const written = after(runtime, changesFor(served, runtime, true, false));
  for (const [, found] of written.directories) {
    assert.ok(found.kind === "file");
    assert.deepEqual([...parted(found.bytes).credentials.keys()], ["b.io:5000"]);
  }
});

test("writes new files that only root can read, and returns no change once they are in place", () => {
  const runtime = runtimeWith({});
  const changes = changesFor(moved(runtime), runtime, true, false);
  assert.deepEqual(
    changes.map(({ directory, file: target }) => [directory, "bytes" in target && target.mode]),
    [
      ["a.io", 0o600],
      ["docker.io", 0o600],
    ],
  );
  assert.deepEqual(changesFor(moved(after(runtime)), after(runtime), true, false), []);
});

/** The directories after the changes were made. */
function after(
  runtime: Runtime,
  given = changesFor(moved(runtime), runtime, true, false),
): Runtime {
  const directories = new Map(runtime.directories);
  for (const { directory, file: target, isOurDirectory } of given)
    if ("bytes" in target) directories.set(directory, { ...target, kind: "file", identity: "2" });
    else if (isOurDirectory) directories.delete(directory);
    else directories.set(directory, { kind: "absent" });
  return { ...runtime, directories };
}

test("law: gives back every directory, file, byte and mode in all modes", () => {
  const runtime = runtimeWith({
    "a.io": file('server = "https://a.io"\n'),
    "docker.io": { kind: "absent" },
    "m.io": file('[host."https://a.io"]', 0o600),
  });
  const served = after(runtime);
  assert.equal(entriesIn(served).length, 3);
  for (const isRuntime of [true, false]) {
    const back = after(served, changesFor(contentWith(8), served, isRuntime, true));
    assert.deepEqual(
      [...back.directories].map(([name, found]) => [name, { ...found, identity: "1" }]),
      [...runtime.directories].map(([name, found]) => [name, { ...found, identity: "1" }]),
    );
  }
});

test("in another mode, keeps what config.json has until the kubelet has read it there, except what leaves", () => {
  const served = after(runtimeWith({}));
  const remaining = contentWith(8, entry("a.io", "new"), entry("z.io", "z"));
  const [change, gone, ...more] = changesFor(remaining, served, false, false);
  assert.ok(change && "bytes" in change.file);
  const auth = Buffer.from("u:new").toString("base64");
  assert.deepEqual([...parted(change.file.bytes).credentials], [["a.io", auth]]);
  assert.deepEqual([gone?.directory, gone?.file], ["docker.io", { absent: true }]);
  assert.deepEqual(more, []);
  const all = changesFor(remaining, served, false, true);
  assert.deepEqual(
    all.map(({ file: target }) => target),
    [{ absent: true }, { absent: true }],
  );
});

test("in another mode, keeps what only its files have", () => {
  for (const isRead of [false, true])
    assert.deepEqual(changesFor(moved(runtimeWith({})), after(runtimeWith({})), false, isRead), []);
});

for (const [count, rest] of [
  [3, ""],
  [5, ", and 2 more"],
] as const)
  test(`names three registries that stay in config.json, and counts the others, here of ${count}`, () => {
    const registries = Array.from({ length: count }, (_, at) => `${at}.io`);
    const keys = registries.map((registry) => entry(registry, "x"));
    const refused = { kind: "refused", why: "it is a link", hasOurs: false } as const;
    const directories = Object.fromEntries(registries.map((registry) => [registry, refused]));
    assert.equal(
      unservedIn(contentWith(8, ...keys), runtimeWith(directories), none),
      `stay in config.json: "0.io" (it is a link), "1.io" (it is a link), "2.io" (it is a link)${rest}`,
    );
  });

test("writes nothing for content that the node took in another mode, and nothing without the files", () => {
  assert.deepEqual(changesFor(content, runtimeWith({}), true, false), []);
  assert.deepEqual(changesFor(content, undefined, true, false), []);
});

test("reports a file with our lines that cannot be replaced", () => {
  const refused = { kind: "refused", why: "it has 2 hard links", hasOurs: true } as const;
  assert.match(unremovable(runtimeWith({ "a.io": refused })) ?? "", /a\.io.*hard links/);
  assert.equal(unremovable(runtimeWith({ "a.io": { ...refused, hasOurs: false } })), undefined);
});

const rivals: readonly (readonly [what: string, theirs: string, keys: readonly string[]])[] = [
  ["an entry of ours with a path", "{}", ["a.io/team"]],
  ["an entry of ours with a wildcard", "{}", ["*.io"]],
  ["another program's entry with a path", '{"auths":{"a.io/team":{"auth":"eDp5"}}}', []],
];
for (const [what, text, keys] of rivals)
  test(`leaves a registry in config.json beside ${what}, because the kubelet would send only that`, () => {
    const theirs = { bytes: Buffer.from(text), mode: 0o600 };
    const all = contentWith(7, ...["a.io", "b.example", ...keys].map((key) => entry(key, "p")));
    const runtime = runtimeWith({});
    const { entries } = placedAt(all, runtime, theirs);
    assert.deepEqual(
      entries.map(({ place }) => place),
      ["file", "hosts", ...keys.map(() => "file")],
    );
    assert.match(unservedIn(all, runtime, theirs) ?? "", /"a\.io" \(.* stays there, too\)/);
  });

test("moves a registry although another program has an entry for the same images, which ours replaces", () => {
  const theirs = { bytes: Buffer.from('{"auths":{"https://a.io":{"auth":"eDp5"}}}'), mode: 0o600 };
  const { entries } = placedAt(contentWith(7, entry("a.io", "p")), runtimeWith({}), theirs);
  assert.equal(entries[0]?.place, "hosts");
});

test("of two entries for Docker Hub, serves the one that the kubelet tries first, and both move", () => {
  const hub = [entry("docker.io", "first"), entry("https://index.docker.io/v1/", "second")];
  for (const entries of [hub, hub.toReversed()]) {
    const both = placedAt(contentWith(7, ...entries), runtimeWith({}), none);
    assert.deepEqual(new Set(both.entries.map(({ place }) => place)), new Set(["hosts"]));
    const [change] = changesFor(both, runtimeWith({}), true, false);
    assert.ok(change && "bytes" in change.file);
    const auth = Buffer.from("u:first").toString("base64");
    assert.deepEqual([...parted(change.file.bytes).credentials], [["docker.io", auth]]);
  }
});

test("keeps what moves back to config.json until the kubelet has read it there", () => {
  const served = after(runtimeWith({}));
  const back = contentWith(8, entry("a.io", "a"), entry("a.io/team", "path"));
  const directories = (isRead: boolean) =>
    changesFor(back, served, true, isRead)
      .map(({ directory }) => directory)
      .toSorted();
  assert.deepEqual(directories(false), ["docker.io"]);
  assert.deepEqual(directories(true), ["a.io", "docker.io"]);
});

test("leaves a host in config.json whose directory's name would be too long", () => {
  const long = `${"a.".repeat(126)}io`;
  assert.equal(wholeHost(long), long);
  assert.equal(wholeHost(`${long}x`), `${long}x`);
  assert.equal(wholeHost(`${long}:5000`), undefined);
  assert.equal(wholeHost(`a.${long}`), undefined);
});
