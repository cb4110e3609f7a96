import assert from "node:assert/strict";
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { type Effect, watching } from "#test/agent/effects.ts";
import { sandboxMount } from "#test/faults/runtime.ts";
import { temporary } from "#test/temporary.ts";
import { contentWith, entry } from "#agent/facts/facts.fixture.ts";
import { clearStaging, readRuntime, writeHosts } from "./directory.ts";
import { changesFor, placedAt, type Runtime, unremovable } from "./plan.ts";

const good = `version = 3
[plugins.'io.containerd.cri.v1.images'.registry]
config_path = "/etc/containerd/certs.d"
`;

function node(t: TestContext) {
  const root = temporary(t);
  const place = {
    containerdPath: "/etc/containerd",
    containerdDirectory: join(root, "containerd"),
    hostsDirectory: join(root, "containerd/certs.d"),
    mountinfo: join(root, "mountinfo"),
  };
  mkdirSync(place.hostsDirectory, { recursive: true });
  writeFileSync(join(place.containerdDirectory, "config.toml"), good);
  writeFileSync(place.mountinfo, sandboxMount);
  const read = (): Runtime => readRuntime(place, "") ?? assert.fail();
  return { place, read, config: join(place.containerdDirectory, "config.toml") };
}

type Place = ReturnType<typeof node>;
const unfit: readonly (readonly [why: RegExp, spoil: (made: Place) => void])[] = [
  [/not containerd/, ({ place }) => writeFileSync(place.mountinfo, "")],
  [/ENOENT/, ({ config }) => rmSync(config)],
  [/ENOENT/, ({ place }) => rmSync(place.hostsDirectory, { recursive: true })],
  [/not TOML/, ({ config }) => writeFileSync(config, "[")],
  [/not set/, ({ config }) => writeFileSync(config, "version = 3")],
  [/\/other, not \/etc/, ({ config }) => writeFileSync(config, good.replace(/"\/.*"/, '"/other"'))],
  [/not below/, ({ config }) => writeFileSync(config, `imports = ["/x.toml"]\n${good}`)],
  [/Spegel/, ({ place }) => mkdirSync(join(place.hostsDirectory, "_backup"))],
  [/Spegel/, ({ place }) => writeFileSync(join(place.hostsDirectory, "_backup"), "")],
  [/regular file/, ({ config }) => (rmSync(config), mkdirSync(config))],
];
for (const [why, spoil] of unfit)
  test(`considers a node unfit for hosts.toml: ${why.source}`, (t) => {
    const made = node(t);
    assert.equal(made.read().unfit, undefined);
    spoil(made);
    assert.match(made.read().unfit ?? "", why);
  });

test("reads nothing where containerd's directory is not mounted", (t) => {
  assert.equal(readRuntime({ ...node(t).place, containerdPath: undefined }, ""), undefined);
});

test("reads the directories of registries, and refuses what it must not replace", (t) => {
  const { place, read } = node(t);
  const at = (name: string) => join(place.hostsDirectory, name);
  for (const name of ["empty", "plain", "certificates", "link", "twice"]) mkdirSync(at(name));
  writeFileSync(at("certificates/ca.crt"), "");
  writeFileSync(at("plain/hosts.toml"), "x = 1\n", { mode: 0o640 });
  writeFileSync(at("file"), "");
  symlinkSync("../plain/hosts.toml", at("link/hosts.toml"));
  linkSync(at("plain/hosts.toml"), at("twice/hosts.toml"));
  const kinds = Array.from(read().directories, ([name, { kind }]) => `${name} ${kind}`);
  assert.deepEqual(kinds, [
    "certificates absent",
    "empty absent",
    "file refused",
    "link refused",
    "plain refused",
    "twice refused",
  ]);
  rmSync(at("twice"), { recursive: true });
  const plain = read().directories.get("plain");
  assert.ok(plain?.kind === "file" && plain.mode === 0o640);
});

for (const [bytes, isRead] of [
  [1024 * 1024, true],
  [1024 * 1024 + 1, false],
] as const)
  test(`${isRead ? "reads" : "does not read"} containerd's files of ${bytes} bytes`, (t) => {
    const { place, read, config } = node(t);
    const whole = (text: string) => text.padEnd(bytes, "\n");
    const folder = join(place.hostsDirectory, "a.io");
    mkdirSync(folder);
    writeFileSync(join(folder, "hosts.toml"), whole(""));
    assert.equal(read().directories.get("a.io")?.kind, isRead ? "file" : "refused");
    writeFileSync(config, whole(good));
    assert.equal(read().unfit === undefined, isRead);
  });

for (const [name, isRead] of [
  ["ca.crt", true],
  ["client.cert", true],
  ["client.key", false],
  ["ca.crt.old", false],
  ["ca-crt", false],
] as const)
  test(`${isRead ? "refuses" : "serves"} a registry that has ${name} instead of hosts.toml`, (t) => {
    const { place, read } = node(t);
    mkdirSync(join(place.hostsDirectory, "a.io"));
    writeFileSync(join(place.hostsDirectory, "a.io", name), "");
    const [why] = isRead ? [{ why: "it has certificates instead of hosts.toml" }] : [{}];
    assert.deepEqual(read().directories.get("a.io"), { kind: "absent", ...why });
  });

const content = contentWith(7, entry("a.io", "p"), entry("b.io", "q"));
const none = { absent: true } as const;

test("writes and removes files durably, and leaves the node as it was", async (t) => {
  const { place, read } = node(t);
  const theirs = join(place.hostsDirectory, "a.io/hosts.toml");
  mkdirSync(join(place.hostsDirectory, "a.io"));
  writeFileSync(theirs, "# theirs\n");
  chmodSync(theirs, 0o644);
  const moved = placedAt(content, read(), none);
  await writeHosts(place.hostsDirectory, changesFor(moved, read(), true, false));
  assert.deepEqual(changesFor(moved, read(), true, false), []);
  assert.match(readFileSync(theirs, "utf8"), /^# theirs\n[^]*Basic /);
  assert.equal(statSync(theirs).mode & 0o777, 0o600);
  await writeHosts(place.hostsDirectory, changesFor(contentWith(8), read(), true, true));
  assert.equal(readFileSync(theirs, "utf8"), "# theirs\n");
  assert.equal(statSync(theirs).mode & 0o777, 0o644);
  for (const name of ["b.io", ".global-pull-secret"])
    assert.ok(!existsSync(join(place.hostsDirectory, name)));
});

test("replaces no file that another program has changed meanwhile, and leaves nothing staged", async (t) => {
  const { place, read } = node(t);
  const changes = changesFor(placedAt(content, read(), none), read(), true, false);
  mkdirSync(join(place.hostsDirectory, "a.io"));
  writeFileSync(join(place.hostsDirectory, "a.io/hosts.toml"), "# new\n");
  await assert.rejects(writeHosts(place.hostsDirectory, changes));
  assert.equal(readFileSync(join(place.hostsDirectory, "a.io/hosts.toml"), "utf8"), "# new\n");
  assert.ok(!existsSync(join(place.hostsDirectory, ".global-pull-secret")));
});

test("removes what a killed agent has staged", (t) => {
  const { place } = node(t);
  const staging = join(place.hostsDirectory, ".global-pull-secret");
  mkdirSync(staging);
  writeFileSync(join(staging, "hosts.toml.staged"), "secret");
  clearStaging(place.hostsDirectory);
  assert.ok(!existsSync(staging));
  clearStaging(place.hostsDirectory);
});

test("looks into any number of directories", async (t) => {
  const { place, read } = node(t);
  for (let count = 0; count < 1001; count += 1)
    mkdirSync(join(place.hostsDirectory, `${count}.io`));
  await writeHosts(
    place.hostsDirectory,
    changesFor(placedAt(content, read(), none), read(), true, false),
  );
  assert.equal(changesFor(contentWith(8), read(), true, true).length, content.entries.length);
});

test("sees nothing where the directory is not the one that the journal names", (t) => {
  const { place } = node(t);
  for (const containerdPath of [undefined, "/other"]) {
    const runtime = readRuntime({ ...place, containerdPath }, "/etc/containerd");
    assert.match(unremovable(runtime) ?? "", /etc.containerd is not mounted/);
  }
});

test("does not take what it cannot list for empty", (t) => {
  const { place, read } = node(t);
  rmSync(place.hostsDirectory, { recursive: true });
  assert.match(unremovable(read()) ?? "", /ENOENT/);
});

/** What becomes of our directory a.io, and whether lines of ours might stay in it. */
const fates: readonly (readonly [what: string, change: (root: string) => void, stays: boolean])[] =
  [
    ["a large file", (root) => appendFileSync(`${root}/a.io/hosts.toml`, large), true],
    ["a second name of the file", (root) => linkSync(`${root}/a.io/hosts.toml`, `${root}/x`), true],
    [
      "a second name, and other line breaks",
      (root) => {
        const text = readFileSync(`${root}/a.io/hosts.toml`, "utf8");
        writeFileSync(`${root}/a.io/hosts.toml`, text.replaceAll("\n", "\r\n"));
        linkSync(`${root}/a.io/hosts.toml`, `${root}/x`);
      },
      true,
    ],
    [
      "a link instead of the directory",
      (root) => {
        renameSync(`${root}/a.io`, `${root}/.a.io`);
        symlinkSync(".a.io", `${root}/a.io`);
      },
      true,
    ],
    [
      "a file that nobody can read",
      (root) => {
        rmSync(`${root}/a.io/hosts.toml`);
        symlinkSync("hosts.toml", `${root}/a.io/hosts.toml`);
      },
      true,
    ],
    [
      "Spegel's backup",
      (root) => {
        mkdirSync(`${root}/_backup`);
        renameSync(`${root}/a.io`, `${root}/_backup/a.io`);
      },
      true,
    ],
    [
      "a link that leads nowhere",
      (root) => {
        rmSync(`${root}/a.io`, { recursive: true });
        symlinkSync("/nowhere", `${root}/a.io`);
      },
      false,
    ],
    ["other line breaks", (root) => appendFileSync(`${root}/a.io/hosts.toml`, "# x\r\n"), false],
  ];
const large = "#".repeat(1024 * 1024);

for (const [what, change, stays] of fates)
  test(`knows whether lines of ours might stay: ${what}`, async (t) => {
    const { place, read } = node(t);
    const root = place.hostsDirectory;
    const served = placedAt(contentWith(7, entry("a.io", "p")), read(), none);
    await writeHosts(root, changesFor(served, read(), true, false));
    change(root);
    await writeHosts(root, changesFor(contentWith(8), read(), true, true));
    assert.equal(unremovable(read()) !== undefined, stays);
  });

test("replaces its files also where new files get another group", async (t) => {
  const { place, read } = node(t);
  chownSync(place.hostsDirectory, process.getuid?.() ?? 0, otherGroup());
  chmodSync(place.hostsDirectory, 0o2755);
  const served = placedAt(content, read(), none);
  await writeHosts(place.hostsDirectory, changesFor(served, read(), true, false));
  assert.deepEqual(changesFor(served, read(), true, false), []);
});

/** A group of this process that is not its own, if there is one. */
function otherGroup(): number {
  if (process.getuid?.() === 0) return 1234;
  return process.getgroups?.().find((group) => group !== process.getgid?.()) ?? 0;
}

test("takes its lines out of a file that would hide certificates", async (t) => {
  const { place, read } = node(t);
  await writeHosts(
    place.hostsDirectory,
    changesFor(placedAt(content, read(), none), read(), true, false),
  );
  writeFileSync(join(place.hostsDirectory, "a.io/ca.crt"), "");
  const moved = placedAt(content, read(), none);
  assert.deepEqual(
    moved.entries.map(({ place: kept }) => kept),
    ["file", "hosts"],
  );
  await writeHosts(place.hostsDirectory, changesFor(moved, read(), true, true));
  assert.ok(!existsSync(join(place.hostsDirectory, "a.io/hosts.toml")));
});

test("reads a configuration that imports a directory that does not exist", (t) => {
  const { config, read } = node(t);
  writeFileSync(config, `imports = ["/etc/containerd/conf.d/*.toml"]\n${good}`);
  assert.equal(read().unfit, undefined);
});

test("follows no link in the place where it stages files", (t) => {
  const root = node(t).place.hostsDirectory;
  const theirs = join(root, "a.io/hosts.toml");
  mkdirSync(join(root, "a.io"));
  writeFileSync(theirs, "# theirs\n");
  symlinkSync("a.io", join(root, ".global-pull-secret"));
  clearStaging(root);
  assert.deepEqual(readdirSync(root, { recursive: true }), ["a.io", "a.io/hosts.toml"]);
});

/** Runs `work` again and again, each time killed before a later change, until it ends. */
async function withKills(work: () => Promise<void>): Promise<void> {
  const killed = new Error("killed");
  for (let kill = 1; ; kill += 1) {
    let changes = 0;
    const watch = () => {
      changes += 1;
      if (changes === kill) throw killed;
    };
    try {
      return await watching(watch, work);
    } catch (error) {
      if (error !== killed) throw error;
    }
  }
}

test("leaves no empty directory and nothing staged, wherever it is killed", async (t) => {
  const { place, read } = node(t);
  const root = place.hostsDirectory;
  const served = placedAt(content, read(), none);
  for (const wanted of [served, contentWith(8), served, contentWith(9)])
    await withKills(async () => {
      clearStaging(root);
      for (const name of readdirSync(root)) assert.ok(existsSync(join(root, name, "hosts.toml")));
      await writeHosts(root, changesFor(wanted, read(), true, true));
    });
  assert.deepEqual(readdirSync(root), []);
});

test("removes its files although nothing can be created or renamed", async (t) => {
  const { place, read } = node(t);
  const root = place.hostsDirectory;
  await writeHosts(root, changesFor(placedAt(content, read(), none), read(), true, false));
  const refuse = ({ call }: Effect) => {
    if (["mkdirSync", "openSync", "renameSync"].includes(call)) throw new Error("ENOSPC");
  };
  const changes = changesFor(contentWith(8), read(), true, true);
  await watching(refuse, () => writeHosts(root, changes));
  assert.deepEqual(readdirSync(root), []);
});

test("keeps a file that another program adds to its directory during a removal", async (t) => {
  const { place, read } = node(t);
  const root = place.hostsDirectory;
  await writeHosts(root, changesFor(placedAt(content, read(), none), read(), true, false));
  const add = ({ call, from }: Effect) => {
    if (call === "renameSync" && from === join(root, "a.io")) writeFileSync(`${from}/ca.crt`, "");
  };
  await watching(add, () => writeHosts(root, changesFor(contentWith(8), read(), true, true)));
  assert.deepEqual(readdirSync(root, { recursive: true }), ["a.io", "a.io/ca.crt"]);
});

test("after a file that cannot be replaced, goes on with the others, and reports it", async (t) => {
  const { place, read } = node(t);
  const changes = changesFor(placedAt(content, read(), none), read(), true, false);
  writeFileSync(join(place.hostsDirectory, "a.io"), "");
  await assert.rejects(writeHosts(place.hostsDirectory, changes));
  assert.ok(existsSync(join(place.hostsDirectory, "b.io/hosts.toml")));
});

test("creates no directory for a file that it cannot stage", async (t) => {
  const { place, read } = node(t);
  const changes = changesFor(placedAt(content, read(), none), read(), true, false);
  const staged = join(place.hostsDirectory, ".global-pull-secret/hosts.toml");
  mkdirSync(join(staged, "x"), { recursive: true });
  await assert.rejects(writeHosts(place.hostsDirectory, changes));
  assert.ok(!existsSync(join(place.hostsDirectory, "a.io")));
});
