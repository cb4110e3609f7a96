/**
 * Compares README.md with the demo's output, with the commands that tests run, and with other
 * pages.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { test, type TestContext } from "node:test";
import { temporary } from "#test/temporary.ts";
import { load } from "js-yaml";
import { version } from "#plugin/terminal/version.ts";
import { linesOf, notRun, shownLines } from "#test/plugin/shown-lines.ts";
import { releases } from "#test/cluster/kit/kubernetes.ts";
import { lines, scripts, transcript } from "#test/demo/script.ts";
import { textOf } from "./install/yaml.ts";

const readme = readFileSync("README.md", "utf8");
const commands = linesOf(readme).filter((line) => line !== "");
const which = (pattern: RegExp): readonly string[] => commands.filter((line) => pattern.test(line));

/** The commands that a test in this file runs in a copy of the checkout, in this order. */
const built = which(/^npm run build$|^export PATH=/);
const images = which(/^podman /);
/** test/install/chart.test.ts runs this command as `helm template`. */
const helm = which(/^helm install /);
const demo = which(/^npm run demo$/);
/** The command that runs this file. */
const tested = which(/^npm test$/);

test("runs every command of README.md in a test", () => {
  const shown = shownLines().filter(({ page, line }) => page === "README.md" && !(line in notRun));
  const run = [...shown.map(({ line }) => line), ...built, ...images, ...helm, ...demo, ...tested];
  assert.deepEqual(run.toSorted(), commands.toSorted());
  assert.deepEqual(
    [built, images, helm, demo, tested].map(({ length }) => length),
    [2, 2, 1, 1, 1],
  );
});

const escaped = (text: string): string => text.replaceAll(".", "\\.");

/** A copy of the files that npm run build reads, with a link to this checkout's packages. */
function copyOfCheckout(t: TestContext): string {
  const copy = temporary(t);
  const excluded = /^(?:node_modules|dist|results|\.git|test|bench)$/;
  cpSync(".", copy, { recursive: true, filter: (path) => !excluded.test(path) });
  symlinkSync(resolve("node_modules"), join(copy, "node_modules"));
  return copy;
}

test("builds the plugin and the image's content with npm run build, and runs the plugin from the PATH", (t) => {
  const cwd = copyOfCheckout(t);
  const lines = [...built, "kubectl-pull_secret version"].join("\n");
  const ran = spawnSync("bash", ["-ec", lines], { cwd, encoding: "utf8" });
  assert.equal(ran.status, 0, `${ran.stdout}${ran.stderr}`);
  assert.match(ran.stdout, new RegExp(`^${escaped(version)} \\(Node `, "m"));
  const held = readFileSync("Containerfile", "utf8").match(/dist\/\S+/g) ?? [];
  assert.ok(held.length > 5, held.join());
  for (const file of held) assert.ok(existsSync(join(cwd, file)), file);
});

test("starts the demo with npm run demo", () => {
  const ran = spawnSync("bash", ["-c", `${demo[0]} -- --help`], { encoding: "utf8" });
  assert.match(ran.stdout, /^Usage: npm run demo /m, ran.stderr);
});

test("builds and pushes with podman the image that helm installs", () => {
  const [, repository = ""] = /--set image\.repository=(\S+)$/.exec(helm[0] ?? "") ?? [];
  const { appVersion } = load(textOf("chart/Chart.yaml")) as { appVersion: string };
  const image = `${repository}:${appVersion}`;
  assert.deepEqual(images, [`podman build -t ${image} .`, `podman push ${image}`]);
});

test("shows in the chart's notes only commands that pages show and tests run", () => {
  const joined = textOf("chart/templates/NOTES.txt").replaceAll(/\\\n\s*/g, "");
  const noted = Array.from(joined.matchAll(/^ {2}(\w.*)$/gm), ([, line = ""]) =>
    line.replace("{{ first .Values.fleet.sources }}", "source-pull-secret"),
  );
  assert.ok(noted.length > 7, noted.join("\n"));
  const pages = [
    "README.md",
    "docs/use/operate.md",
    "docs/extend/fleet.md",
    "docs/use/configure.md",
  ];
  const texts = pages.map((page) => readFileSync(page, "utf8"));
  const shown = new Set(texts.flatMap(linesOf));
  for (const line of noted) {
    // README.md shows some commands in a sentence, because users must fill in their registry.
    const isInline = readme.replaceAll(/\s+/g, " ").includes(`\`${line}\``);
    const isHelp = line.startsWith("kubectl explain ");
    assert.ok(shown.has(line) || isInline || isHelp, line);
  }
});

const oneLine = (file: string): string => readFileSync(file, "utf8").replaceAll(/\s+/g, " ");

test("gives the same range of Kubernetes versions on all pages and in the chart", () => {
  const { kubeVersion } = load(textOf("chart/Chart.yaml")) as { kubeVersion: string };
  const [, least = ""] = /^>=(1\.\d+)\.0-0$/.exec(kubeVersion) ?? [];
  const minors = Object.keys(releases);
  const newest = minors.at(-1);
  assert.equal(minors[0], least);
  const range = `Kubernetes ${least} or newer; tests run each minor version up to ${newest}.`;
  for (const page of ["README.md", "docs/use/install.md"])
    assert.ok(oneLine(page).includes(range), `${page}: ${range}`);
  const support = readFileSync("SUPPORT.md", "utf8");
  assert.match(
    support,
    new RegExp(`^\\| Kubernetes before ${least}: the chart does not install `, "m"),
  );
  assert.ok(support.includes(`| Kubernetes ${least} to ${newest} |`));
  const older = Object.values(releases).slice(0, -1).join(", ");
  assert.match(support, new RegExp(`^\\| Older Kubernetes .* \\| ${escaped(older)} \\|$`, "m"));
});

test("shows on the pages every command that test/plugin/shown.ts leaves out", () => {
  const lines = new Set(shownLines().map(({ line }) => line));
  for (const line of Object.keys(notRun)) assert.ok(lines.has(line), line);
});

test("has every line of the demo's script in README.md's transcript, in the script's order", () => {
  const [, , reported = ""] = transcript.exec(readme) ?? [];
  let steps = 0;
  const expected = scripts.scripted.map((key) => {
    const { kind, text } = lines[key];
    if (kind === "claim") return `   ✓ ${text}`;
    steps += 1;
    return `${steps}. ${text}`;
  });
  assert.ok(expected.length <= 25, "the transcript is too long for README.md");
  // Replaces times, and the node that fails first, which differ between runs.
  assert.equal(
    reported
      .trimEnd()
      .replaceAll(/\d+\.\d s\b/g, "{seconds} s")
      .replace(/node\d(?= has its previous)/, "{node}"),
    expected.join("\n"),
  );
});
