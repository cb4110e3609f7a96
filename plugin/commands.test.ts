import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { Wrong } from "#contract/values.ts";
import { tokenFrom } from "#kube/token.fixture.ts";
import { agentName } from "#contract/names.ts";
import { ownerLabels } from "#kube/client/ownership.ts";
import { globalPullSecretPath, leaseIn, owned } from "#kube/client/paths.ts";
import type { Replacing } from "#kube/client/cluster.ts";
import { profileOf, profilePath } from "./clusters/profile.ts";
import { commands } from "./commands.ts";
import {
  additionalPath,
  call,
  denial,
  FakeCluster,
  place,
  pullSecret,
  refusal,
} from "./fake.fixture.ts";
import { conditionsOf, inForce, object, source } from "./object.fixture.ts";
import { definition, deployment, installation } from "./removal/objects.ts";
import { node } from "./show/node.fixture.ts";
import { groups, named } from "./terminal/command.ts";
import type { Io, Reach } from "./terminal/io.ts";

/**
 * Splits the line into arguments like a shell. A quoted text is one word. `<` and the text after it
 * are not arguments.
 */
function words(line: string): string[] {
  const [before = ""] = line.split(" <");
  return (before.match(/'[^']*'|"[^"]*"|\S+/g) ?? []).map((word) =>
    word.replace(/^(['"])(.*)\1$/, "$2"),
  );
}

const page = readFileSync("docs/reference/plugin.md", "utf8");

/** The flags that the page lists once for several commands. */
const common = Array.from(
  page.matchAll(/^\| `(--.+)` \| (.+) \| .+ \|$/gm),
  ([, flag, what]) => `${flag} ${what}`,
);

/** The lines of a help, without widths of columns and without the common flags. */
const linesOf = (help: string): string[] =>
  help
    .split("\n")
    .map((line) => line.trim().replaceAll(/ +/g, " "))
    .filter((line) => line !== "" && !common.some((flag) => line.startsWith(flag)));

/** The commands of the group `fleet` that only print manifests, without a cluster. */
const printsOnly = new Set(["fleet rbac", "fleet tenant"]);

/** Arguments with which a command uses a cluster. The default is the example of its help. */
const inCluster: Readonly<Record<string, readonly string[]>> = {
  check: [""],
  explain: ["pod/web-0", "quay.io/team/app"],
  "fleet apply": ["-f web.json"],
  "fleet delete": ["-f web.json --yes"],
  "fleet join": ["east"],
  seal: ["-f pull-secret.json --cluster east -o sealed"],
};

/** The contexts that commands on many clusters use if `--context here` is given. */
const contextsOf: Readonly<Record<string, readonly (string | undefined)[]>> = {
  "fleet join": ["here", undefined],
  "fleet remove": ["here", undefined],
  "fleet apply": ["here", "east"],
  "fleet delete": ["here", "east"],
  seal: ["here", "east"],
};

const manifest = { apiVersion: "v1", kind: "Namespace", metadata: { name: "web" } };

/** A host that is also its joined cluster `east`. */
function joined(): FakeCluster {
  const fake = new FakeCluster();
  fake.objects.set("/api/v1/namespaces/kube-system", { metadata: { uid: "id" } });
  fake.objects.set(profilePath("east"), profileOf("east", "id", { context: "east" }));
  return fake;
}

for (const [name, { example, group }] of Object.entries(commands)) {
  test(`\`${name}\` accepts the example of its help`, async () => {
    const { code, err } = await call([name, ...words(example)], {
      input: "secret",
      signal: AbortSignal.abort(),
    });
    // The files that the examples name do not exist here.
    assert.ok(code !== 2 || /\.(?:json|pem): no such file\n$/.test(err), err);
  });

  test(`\`${name} --help\` prints the same as \`help\` and the docs page, and names only existing flags`, async () => {
    const { out } = await call([name, "--help"]);
    assert.equal((await call(["help", ...name.split(" ")])).out, out);
    const [, shown = ""] = new RegExp(`### ${name}\n\n\`\`\`\n(.*?)\`\`\``, "s").exec(page) ?? [];
    assert.deepEqual(linesOf(out), linesOf(shown));
    assert.doesNotMatch(out, /docs\//, "no checkout is at hand");
    const { flags, more = "", what } = commands[name] ?? {};
    const texts = Object.values(flags ?? {}).map((row) => row.what);
    for (const [flag] of [what, more, ...texts].join("\n").matchAll(/--[a-z][a-z-]*/g))
      assert.ok(Object.hasOwn(flags ?? {}, flag.slice(2)), flag);
  });

  if (group !== "local" && !printsOnly.has(name)) {
    test(`\`${name}\` has the flags that kubectl has for a cluster`, () => {
      for (const flag of ["kubeconfig", "context", "namespace"])
        assert.ok(commands[name]?.flags[flag], flag);
    });

    for (const given of inCluster[name] ?? [example])
      test(`\`${`${name} ${given}`.trim()}\` uses the kubeconfig that the flags name, and the right context`, async () => {
        const [kubeconfigs, contexts] = [new Set<string | undefined>(), new Set<unknown>()];
        const ask =
          <T>(answer: T) =>
          ({ kubeconfig, context }: Reach) => {
            kubeconfigs.add(kubeconfig);
            contexts.add(context);
            return Promise.resolve(answer);
          };
        const io: Partial<Io> = {
          read: () => Promise.resolve(Buffer.from('{"auths":{"a.io":{"auth":"dTpw"}}}')),
          documents: () => Promise.resolve([manifest]),
          reach: ask(joined()),
          place: ask(place),
          namespace: ask("shop"),
          contexts: (kubeconfig) => {
            kubeconfigs.add(kubeconfig);
            return Promise.resolve(["east"]);
          },
        };
        const argv = [name, ...words(given), "--kubeconfig", "work", "--context", "here"];
        const { err } = await call(argv, { input: "secret", signal: AbortSignal.abort(), io });
        assert.deepEqual([...kubeconfigs], ["work"], err);
        assert.deepEqual(contexts, new Set(contextsOf[name] ?? ["here"]), err);
      });
  }
}

for (const [name, entry] of Object.entries(commands))
  test(`law: finds \`${name}\` after each of its flags, however the flag is spelled`, () => {
    for (const [flag, row] of Object.entries(entry.flags)) {
      // Before its command, --wait counts as the flag of the commands in which it has a value.
      if (row.from === "operand" || (flag === "wait" && row.switch)) continue;
      const spellings = [`--${flag}`, ...(row.short === undefined ? [] : [`-${row.short}`])];
      for (const spelling of spellings)
        // The value is also the name of a command.
        for (const given of row.switch ? [[spelling]] : [[spelling, "wait"], [`${spelling}=wait`]])
          assert.deepEqual(
            named(commands, [...given, ...name.split(" "), "x"]),
            [name, entry, [...given, "x"]],
            given.join(" "),
          );
    }
  });

const withdrawn = object({
  spec: { managementState: "Withdrawn" },
  status: { conditions: conditionsOf("nobody", "Withdrawn", "nothing is left") },
});
const served = object({ status: { conditions: inForce, sources: [source("812", "812")] } });
const byHelm = { annotations: { "meta.helm.sh/release-name": "gps" } };
const manager = "kubectl-pull-secret";
const followed = "globalpullsecrets?fieldSelector=metadata.name%3Dcluster";
const revision = { metadata: { labels: ownerLabels }, data: { revision: btoa("1780000000") } };
const accepted = pullSecret({ "b.io": "u:p" }).data?.[".dockerconfigjson"];

/** A host that is also its joined cluster, with an installation whose agents serve everything. */
function complete(changes: Readonly<Record<string, object>>): FakeCluster {
  const fake = joined();
  const manifests = { resources: [{ name: "namespaces", kind: "Namespace", namespaced: false }] };
  const pod = { containers: [{ name: "a", image: "a.io/x" }], nodeName: "n0" };
  for (const { path } of [...installation, definition])
    fake.objects.set(path, { metadata: { uid: path } });
  for (const [path, stored] of Object.entries({
    [additionalPath]: pullSecret({ "a.io": "u:p" }),
    [globalPullSecretPath]: served,
    [leaseIn("kube-system")]: { spec: { holderIdentity: "a" } },
    [owned.global]: revision,
    [owned.state]: { ...revision, data: { "source.additional": accepted } },
    "/api/v1": manifests,
    "/api/v1/namespaces/global-pull-secret-clusters": {},
    "/api/v1/namespaces/web": { metadata: { managedFields: [{ manager, operation: "Apply" }] } },
    "/api/v1/namespaces/shop/pods/web-0": { metadata: { namespace: "shop" }, spec: pod },
    "/api/v1/nodes/n0": node({}),
    ...changes,
  }))
    fake.objects.set(path, stored);
  return fake;
}

/**
 * Command lines that succeed in a complete cluster. The last words of the paths that they can do
 * without: if the caller lacks the right, and if the API server fails.
 */
const succeeding: readonly (readonly [
  line: string,
  withoutRight?: readonly string[],
  afterFailure?: readonly string[],
  changes?: Readonly<Record<string, object>>,
])[] = [
  [
    "preflight",
    [`${agentName}-dryrun`, agentName],
    // A dry run shows what it could not find out.
    ["global-pull-secret", agentName, `${agentName}-dryrun`],
  ],
  ["status"],
  ["nodes", ["cluster", "pods"]],
  ["wait --timeout 0", ["additional-pull-secret", "cluster"]],
  ["history", ["cluster"]],
  ["check", ["cluster"]],
  ["explain a.io/x"],
  ["explain pod/web-0", ["cluster", "default", "events"]],
  ["apply -f a.json --yes --wait=false", ["cluster"]],
  ["undo --yes --wait=false", ["cluster"]],
  ["add b.io -u x --password-stdin", ["cluster"]],
  ["remove a.io --yes", ["cluster"]],
  ["pause"],
  ["resume"],
  ["withdraw --yes"],
  ["withdraw --yes --helm-release=gps", [], [], { [deployment.path]: { metadata: byHelm } }],
  ["retry"],
  // It asks again for the object, until the time is over.
  ["uninstall --yes", ["cluster"], [followed], { [globalPullSecretPath]: withdrawn }],
  ["fleet status"],
  ["fleet list"],
  ["fleet join east --context east"],
  ["fleet remove east --yes", ["fleetsecrets"]],
  ["fleet apply -f web.json"],
  ["fleet delete -f web.json --yes"],
  ["fleet release fleetsecrets --yes"],
  ["fleet release syncsecrets --yes"],
];

for (const [line, withoutRight = [], afterFailure = [], changes = {}] of succeeding)
  test(`law: \`${line}\` fails when any of its requests fails, except the requests that it can do without`, async () => {
    const token = tokenFrom(Date.parse("2026-12-02"), Date.parse("2027-01-01"));
    const refuses = () => Promise.reject(denial);
    const guarded = {
      get: async () => {},
      create: refuses,
      apply: refuses,
    } as unknown as Replacing;
    /** Runs the command, and lets one of its requests fail. */
    const run = async (failing: number, error?: Error) => {
      const fake = complete(changes);
      const paths: string[] = [];
      const request = (path: string) => {
        paths.push(path);
        if (paths.length - 1 === failing) throw error;
      };
      const [get, pages] = [fake.get.bind(fake), fake.pages.bind(fake)];
      fake.get = async <T>(path: string) => (request(path), await get<T>(path));
      fake.pages = async (path, ...more) => (request(path), await pages(path, ...more));
      fake.before = ({ path }) => request(path);
      if (line.startsWith("fleet join")) fake.create = async <T>() => ({ status: { token } }) as T;
      const document = Buffer.from(
        line.startsWith("add") ? "s" : '{"auths":{"c.io":{"auth":"dTpw"}}}',
      );
      const io: Partial<Io> = {
        read: () => Promise.resolve(document),
        documents: () => Promise.resolve([manifest]),
        contexts: () => Promise.resolve(["east"]),
        reach: (how) => Promise.resolve(how.token === undefined ? fake : guarded),
      };
      return { ...(await call(words(line), { cluster: fake, io })), paths };
    };
    const { code, err, paths } = await run(-1);
    assert.equal(code, 0, err);
    for (const [error, spared] of [
      [refusal(403, "GET", "/x"), withoutRight],
      [refusal(500, "GET", "/x"), afterFailure],
      [new Error("a fault of the plugin"), afterFailure.filter((name) => name === followed)],
    ] as const) {
      const names = new Set<string>();
      for (const [at, path] of paths.entries()) {
        const ended = await run(at, error).catch((thrown: unknown) => {
          assert.equal(thrown, error);
          return { code: 1 };
        });
        if (ended.code !== 1) names.add(path.split("/").at(-1) ?? "");
      }
      assert.deepEqual(names, new Set(spared), error.message);
    }
  });

test("`help` explains codes, in any case, but only if each word is a code", async () => {
  const { code, out } = await call(["help", "gps115", "GPS116"]);
  const [first, second] = [await call(["help", "GPS115"]), await call(["help", "GPS116"])];
  assert.deepEqual([code, out], [0, `${first.out}\n${second.out}`]);
  assert.match(first.out, /^GPS115/);
  const { out: help } = await call(["status", "--help"]);
  assert.equal((await call(["help", "status", "GPS115"])).out, help);
  assert.equal((await call(["help", "GPS000"])).code, 2);
});

const family = "join clusters, share Secrets with them and with tenants; fleet --help lists how";

test("lists every command below the title of its group", async () => {
  const { out } = await call(["--help"]);
  const all = Object.entries(commands);
  const line = (name: string, what: string, width = 10) => `  ${name.padEnd(width)} ${what}\n`;
  for (const [group, title] of Object.entries(groups)) {
    const own = all.filter(([, command]) => command.group === group);
    const lines = own.map(([name, { what }]) =>
      name.startsWith("fleet ") ? line("fleet", family) : line(name, what),
    );
    assert.ok(out.includes(`\n${title}:\n${[...new Set(lines)].join("")}\n`), title);
  }
  const ofFleet = all.filter(([name]) => name.startsWith("fleet "));
  assert.equal(
    (await call(["help", "fleet"])).out,
    "Usage: kubectl pull-secret fleet COMMAND\n\nMany clusters:\n" +
      ofFleet.map(([name, { what }]) => line(name, what, 13)).join(""),
  );
});

/** Invalid values. Each flag that does not accept all values refuses at least one of these. */
const odd = ["!", "pod/WEB_0", "x".repeat(300), "{", "9999999999x"];

for (const [name, { flags }] of Object.entries(commands))
  test(`\`${name}\` reports an invalid value as invalid, not as missing`, async () => {
    for (const [flag, row] of Object.entries(flags)) {
      const bad = odd.find((text) => row.read(text) instanceof Wrong);
      if (bad === undefined) continue;
      const operand = row.from === "operand";
      const { code, err } = await call([name, operand ? bad : `--${flag}=${bad}`]);
      const title = operand ? flag : `--${flag}`;
      assert.equal(code, 2, title);
      const about = err.split("\n").filter((line) => line.startsWith(`${title}:`));
      assert.deepEqual(about, [], err);
      assert.ok(err.includes(`${title} `), err);
    }
  });

/** Why a command is allowed to delete objects without asking. */
const unasked: Readonly<Record<string, string>> = {
  add: "shares its code with remove, but never deletes a Secret",
  "fleet join": "a join that fails deletes only the objects that it has created",
};

/** This file, and all files of plugin/ that it imports directly or indirectly. */
function reached(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const [, path = ""] of readFileSync(file, "utf8").matchAll(
    / from "((?:#plugin|\.)[^"]+)";/g,
  ))
    reached(path.startsWith("#") ? path.slice(1) : join(dirname(file), path), seen);
  return seen;
}

test("every command that deletes objects in a cluster has the flag --yes, except the commands in `unasked`", async () => {
  const files = globSync("plugin/commands/**/*.ts", { exclude: ["**/*.test.ts"] });
  const names: string[] = [];
  for (const file of files) {
    const deletes = [...reached(file)].some((path) =>
      /\.remove\(/.test(readFileSync(path, "utf8")),
    );
    if (!deletes) continue;
    const exported = Object.values((await import(`../${file}`)) as object);
    const its = Object.entries(commands).filter(([, command]) => exported.includes(command));
    for (const [name, { flags }] of its) {
      names.push(name);
      assert.equal("yes" in flags, !Object.hasOwn(unasked, name), name);
    }
  }
  const asked = ["fleet delete", "fleet remove", "remove", "uninstall"];
  assert.deepEqual(names.toSorted(), [...asked, ...Object.keys(unasked)].toSorted());
});
