/** The commands that README.md and docs show, and which of them test/plugin/shown.ts runs. */
import { globSync, readFileSync } from "node:fs";

export type Shown = Readonly<{ page: string; line: string }>;

/** Commands of the plugin and of our object; of README.md every command of kubectl. */
const isRun = ({ page, line }: Shown): boolean =>
  page === "README.md"
    ? line.startsWith("kubectl ")
    : /\bkubectl pull-secret\b|\bkubectl get serviceaccounts\b|\bkubectl\b.*\b(?:gps|globalpullsecrets?)\b/.test(
        line,
      );

/** Lines of the blocks of shell, in their order, without what follows `#`; a last `\` goes on. */
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
      // The pages that follow two clusters are run whole: test/e2e/two-clusters, test/sync.
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

/** Every such command, in the order of the pages. */
export const shownLines = (): readonly Shown[] => pages.flatMap(shownIn);

/** The GlobalPullSecret that docs/use/install.md shows. */
export function example(): string {
  const page = readFileSync("docs/use/install.md", "utf8");
  const [, text = ""] = /^```yaml\n# globalpullsecret\.yaml\n(.*?)^```/ms.exec(page) ?? [];
  return text;
}

/** Commands that go on until they are interrupted. */
export const endless: ReadonlySet<string> = new Set(["kubectl pull-secret status --watch"]);

/** Line → why it is not run there as it stands. */
export const notRun: Readonly<Record<string, string>> = {
  "kubectl pull-secret check --login":
    "its registries are out of reach; run against a real one in login.ts",
  "kubectl pull-secret check --login -f additional.json":
    "its registries are out of reach; run against a real one in login.ts",
  "kubectl pull-secret add REGISTRY -u USER --password-stdin < token":
    "has placeholders; test/e2e/quick-start.test.ts follows the page",
  ...Object.fromEntries(
    [
      "clusters join east --context admin@east",
      "clusters join west --context west",
      "clusters join here --context host",
      "clusters list",
      "clusters apply -f manifests --clusters east,west",
      "clusters apply -f manifests --check",
      "clusters remove east",
    ].map((line) => [
      `kubectl pull-secret ${line}`,
      "needs several clusters; its like is run in test/clusters",
    ]),
  ),
  ...Object.fromEntries(
    ["clusters apply -f sealed/west.yaml --clusters west", "wait --context east"].map((line) => [
      `kubectl pull-secret ${line}`,
      "needs both clusters of docs/extend/sealed.md, which test/e2e/two-clusters follows",
    ]),
  ),
  "kubectl pull-secret uninstall": "asks a person; run with --yes in uninstall.ts, last of all",
};
