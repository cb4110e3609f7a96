/** The commands that README.md and docs show, and which of them test/plugin/shown.ts runs. */
import { globSync, readFileSync } from "node:fs";

export type Shown = Readonly<{ page: string; line: string }>;

/**
 * Selects the commands that use the plugin or a GlobalPullSecret, and every kubectl command of
 * README.md.
 */
const isRun = ({ page, line }: Shown): boolean =>
  page === "README.md"
    ? line.startsWith("kubectl ")
    : /\bkubectl pull-secret\b|\bkubectl get serviceaccounts\b|\bkubectl\b.*\b(?:gps|globalpullsecrets?)\b/.test(
        line,
      );

/** Lines of the shell blocks, in order, without comments. Joins lines that end with `\`. */
export function linesOf(text: string): string[] {
  return Array.from(text.matchAll(/^```([^\n]*)\n(.*?)^```/gms))
    .flatMap(([, language, block = ""]) => (language === "sh" ? block : []))
    .flatMap((block) => block.replaceAll(/\\\n\s*/g, "").split("\n"))
    .map((line) => line.replace(/(?:^|\s)#.*$/, "").trim());
}

function shownIn(page: string): Shown[] {
  return (
    linesOf(readFileSync(page, "utf8"))
      .map((line) => ({ page, line }))
      .filter(isRun)
      // Other tests run the pages about two clusters: test/e2e/two-clusters, test/tenants.
      .filter(({ line }) => !/--context (?:management|guest|tenant)\b/.test(line))
  );
}

const pages = [
  "README.md",
  "SECURITY.md",
  "CONTRIBUTING.md",
  "SUPPORT.md",
  ...globSync("docs/**/*.md", { exclude: ["docs/inside/decisions/**"] }),
].toSorted();

/** All selected commands, in the order of the pages. */
export const shownLines = (): readonly Shown[] => pages.flatMap(shownIn);

/** The GlobalPullSecret that docs/use/install.md shows. */
export function example(): string {
  const page = readFileSync("docs/use/install.md", "utf8");
  const [, text = ""] = /^```yaml\n# globalpullsecret\.yaml\n(.*?)^```/ms.exec(page) ?? [];
  return text;
}

/** Line → why shown.ts does not run it. */
export const notRun: Readonly<Record<string, string>> = {
  "kubectl pull-secret check --login --image quay.io/acme/app:1":
    "cannot reach its registries; login.ts runs it against a real registry",
  "kubectl pull-secret check --login -f additional.json":
    "cannot reach its registries; login.ts runs it against a real registry",
  "kubectl pull-secret add localhost:30500 -u docker --password-stdin < token":
    "needs the quick start's registry; test/kind follows the page",
  "kubectl wait --for=condition=Stalled globalpullsecret/cluster --timeout=2m":
    "needs the quick start's mistake; test/kind follows the page",
  "kubectl pull-secret wait --deleted":
    "needs the quick start's deletion; test/kind follows the page",
  ...Object.fromEntries(
    [
      "fleet join east --context admin@east",
      "fleet join west --context west",
      "fleet join here --context host",
      "fleet list",
      "fleet apply -f manifests --clusters east,west",
      "fleet remove east",
    ].map((line) => [
      `kubectl pull-secret ${line}`,
      "needs several clusters; test/clusters runs such commands",
    ]),
  ),
  ...Object.fromEntries(
    ["fleet apply -f sealed/west.yaml --clusters west", "wait --context east"].map((line) => [
      `kubectl pull-secret ${line}`,
      "needs both clusters of docs/extend/sealed.md, which test/e2e/two-clusters follows",
    ]),
  ),
  "kubectl pull-secret preflight -o values":
    "needs nodes; plugin/commands/preflight.test.ts runs it for nodes of several kinds",
  "kubectl pull-secret uninstall": "asks a person; uninstall.ts runs it last, with --yes",
};
