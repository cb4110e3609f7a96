/**
 * `npm test`, `npm run test:cluster` and `npm run test:all [shard]`: `node tools/build/run.mjs
 * tools/build/test.ts test|cluster|all [word …]`. A word selects the files whose paths contain the
 * word; tiers.ts assigns the files to commands. Node's test runner runs each file in a process of
 * its own, and reporter.ts prints the results.
 *
 * The first two commands always use the same seed, `all` uses a random seed. `SEED=n` repeats the
 * run that printed this seed.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { releases } from "#test/cluster/kit/kubernetes.ts";
import { type Run, runVariable } from "./reporter.ts";
import {
  commandOf,
  filesOf,
  shardOf,
  shards,
  testFiles,
  type Tier,
  tierOf,
  versionFiles,
} from "./tiers.ts";

const [tier, ...words] = process.argv.slice(2) as [Tier, ...string[]];

/**
 * The seed of `npm test` and `test:cluster`. The number has no meaning; another number gives other
 * schedules.
 */
const committedSeed = 20_261;

/**
 * Milliseconds for a run, for one test, and without news from a file. A file that only computes has
 * no news; on a busy machine, one did so for two minutes. A shard of `test:all` takes at most 100
 * minutes on the slowest machine so far, and `test:cluster` must end before CI's limit for its
 * three commands.
 */
const minute = 60_000;
const bounds = {
  test: { run: 20 * minute, test: 3 * minute, silence: 6 * minute },
  cluster: { run: 70 * minute, test: 18 * minute, silence: 20 * minute },
  all: { run: 180 * minute, test: 160 * minute, silence: 165 * minute },
}[tier];

/**
 * Multiplies the limits of waits, because other files run at the same time. In `npm test`, a wait
 * with a larger factor would reach the limit of its test first, and not print what it saw last.
 */
const patience = process.env["PATIENCE"] || (tier === "test" ? "2" : "4");

/** These variables change which tests run, or how they run. The run prints those that are set. */
const choices = [
  "SEED",
  "EVERY_POINT",
  "PATIENCE",
  "SOAK_MINUTES",
  "DIFFERENTIAL_FILES",
  "KUBERNETES",
] as const;

/**
 * Tests get these variables, by which programs find their files, the network with its certificates,
 * and the packages that they build from. With SUDO_UID git trusts a checkout whose owner called
 * sudo. All other variables would make tests depend on the shell.
 */
const passedOn =
  /^(?:PATH|HOME|USER|LOGNAME|SUDO_UID|SHELL|TERM|CI|XDG_\w+|KUBEBUILDER_ASSETS|DEBIAN_MIRROR|npm_config_\w+|(?:all|https?|no)_proxy|SSL_CERT_(?:FILE|DIR)|NODE_EXTRA_CA_CERTS|CURL_CA_BUNDLE|GIT_SSL_CAINFO|GO(?:PATH|ROOT|CACHE|MODCACHE|TOOLCHAIN|PROXY|PRIVATE|NOPROXY|SUMDB|NOSUMDB|INSECURE|AUTH))$/i;

function refuse(problem: string): never {
  process.stderr.write(`${problem}\n`);
  process.exit(2);
}

const drawn = tier === "all" ? Date.now() % 1_000_000 : committedSeed;
const seed = Number(process.env["SEED"] || drawn);
if (!Number.isSafeInteger(seed)) refuse(`SEED=${process.env["SEED"]}: give a whole number`);
const kubernetes = process.env["KUBERNETES"] || undefined;
if (kubernetes !== undefined && !Object.hasOwn(releases, kubernetes))
  refuse(`KUBERNETES=${kubernetes}: choose one of ${Object.keys(releases).join(", ")}`);
if (!(Number(patience) > 0)) refuse(`PATIENCE=${patience}: give a number above 0`);

/** The files of a shard of `test:all`, or of another command. */
const filesIn = (name: string): readonly string[] =>
  name === "versions"
    ? versionFiles
    : filesOf(tier).filter((file) => tier !== "all" || shardOf(file) === name);

/** Shard, or command → its files to run. For `all`, the first word can be the name of a shard. */
function chosen(): readonly (readonly [name: string, files: readonly string[]])[] {
  const [first = ""] = words;
  const isShard = tier === "all" && shards.includes(first);
  const names = isShard ? [first] : tier === "all" ? shards : [tier];
  const files = names.flatMap(filesIn);
  const parts = isShard ? words.slice(1) : words;
  for (const part of parts)
    if (!files.some((file) => file.includes(part))) refuse(`${part}: ${whereIs(part)}`);
  const isChosen = (file: string): boolean =>
    parts.length === 0 || parts.some((part) => file.includes(part));
  return names
    .map((name) => [name, filesIn(name).filter(isChosen)] as const)
    .filter(([, some]) => some.length > 0);
}

function whereIs(word: string): string {
  const other = testFiles().find((file) => file.includes(word));
  if (other !== undefined) return `${commandOf[tierOf(other)]} runs ${other}`;
  const names = tier === "all" ? `; the shards are ${shards.join(", ")}` : "";
  return `no path of a test file contains it${names}`;
}

let isCut = false;

/**
 * Runs the files with Node's test runner, on this minor version of Kubernetes if one is given; true
 * if all went well.
 */
async function run(name: string, files: readonly string[], minor = ""): Promise<boolean> {
  const described: Run = {
    tier,
    files,
    whole: words.length === 0,
    bound: bounds.run,
    silence: bounds.silence,
  };
  const reporter = join(import.meta.dirname, "reporter.ts");
  // A file of `npm test` waits half of its time, so two files for each core use the machine.
  const atOnce = tier === "test" ? 2 * Math.max(2, availableParallelism()) : 2;
  const argv = [
    `--import=${join(import.meta.dirname, "laws.ts")}`,
    "--test",
    `--test-concurrency=${atOnce}`,
    `--test-timeout=${bounds.test}`,
    `--test-reporter=${reporter}`,
    "--test-reporter-destination=stdout",
  ];
  if (tier === "all") {
    mkdirSync("results", { recursive: true });
    argv.push("--test-reporter=spec", `--test-reporter-destination=results/${name}.txt`);
  }
  const isKept = (variable: string): boolean =>
    passedOn.test(variable) || choices.some((choice) => choice === variable);
  const env = {
    ...Object.fromEntries(Object.entries(process.env).filter(([variable]) => isKept(variable))),
    ...(tier === "all" ? { EVERY_POINT: "1" } : {}),
    ...(minor !== "" && { KUBERNETES: minor }),
    SEED: String(seed),
    PATIENCE: patience,
    // The time zone farthest from UTC, so that a test that depends on the machine's time zone fails
    // everywhere.
    TZ: "Pacific/Kiritimati",
    // Compiling the same modules for each file would cost a quarter of a second.
    NODE_COMPILE_CACHE: join("node_modules", ".cache", "tests"),
    [runVariable]: JSON.stringify(described),
  };
  // The runner gets its own process group, with all programs that the tests start.
  const child = spawn(process.execPath, [...argv, ...files], {
    env,
    stdio: ["ignore", "inherit", "inherit"],
    detached: true,
  });
  const send = (signal: NodeJS.Signals | 0): boolean => {
    try {
      return process.kill(-(child.pid ?? Number.NaN), signal);
    } catch {
      return false;
    }
  };
  const cut = (): void => {
    isCut = true;
    send("SIGTERM");
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, cut);
  const [code] = (await once(child, "exit")) as [number | null];
  // Tests that were cut off have a minute to remove their clusters.
  const end = Date.now() + (isCut ? minute : 0);
  while (Date.now() < end && send(0)) await sleep(100);
  send("SIGKILL");
  return code === 0 && !isCut;
}

const groups = chosen();
const environment: NodeJS.ProcessEnv = {
  ...process.env,
  ...(tier === "all" && { SEED: String(seed) }),
};
for (const choice of choices)
  if (environment[choice]) process.stdout.write(`${choice}=${environment[choice]}\n`);
if (tier !== "test") {
  const { freshBundle } = await import("./bundle.ts");
  const { setUp } = await import("#test/cluster/setup.ts");
  await freshBundle();
  await setUp();
}
let isGood = true;
const runGroup = async (...group: Parameters<typeof run>): Promise<void> => {
  if (!isCut) isGood = (await run(...group)) && isGood;
};
// One shard after the other, because a shard uses the whole machine.
for (const [name, files] of groups) {
  if (name !== "versions" || kubernetes !== undefined) await runGroup(name, files);
  else for (const minor of Object.keys(releases)) await runGroup(`${name}-${minor}`, files, minor);
}
if (isCut) process.stdout.write("FAILED: a signal cut the run off\n");
process.exit(isGood && !isCut ? 0 : 1);
