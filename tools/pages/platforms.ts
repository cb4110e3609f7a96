/** The platforms of SUPPORT.md and README.md, from the table that `preflight` uses. */
import { readFileSync } from "node:fs";
import { platforms, settingsOf, type Platform } from "#plugin/show/platforms.ts";
import { table } from "./markdown.ts";

/** The page with its part between the marks replaced. */
function filled(file: string, part: string): string {
  const marked = /(<!-- platforms -->\n\n)[^]*?(<!-- \/platforms -->)/;
  return readFileSync(file, "utf8").replace(marked, (_, begin: string, end: string) => {
    return `${begin}${part}\n\n${end}`;
  });
}

export const supportPage = (): string => filled("SUPPORT.md", platformsTable());
export const readmePage = (): string => filled("README.md", platformsSentence());

/** One row for consecutive platforms with the same cells. */
function platformsTable(): string {
  const rows: string[][] = [];
  for (const platform of platforms) {
    const cells = cellsOf(platform);
    const last = rows.at(-1);
    if (last !== undefined && last.slice(1).join("|") === cells.join("|"))
      last[0] += `, ${platform.name}`;
    else rows.push([platform.name, ...cells]);
  }
  const modes = ["Mode `Restart`", "Mode `CredentialProvider`", "Mode `Runtime`"];
  const head = ["Platform", ...modes, "What to do", "How we know"];
  return table(head, rows);
}

function cellsOf(platform: Platform): string[] {
  const { restart, provider, runtime, evidence } = platform;
  const settings = settingsOf(platform).join("; ") || "–";
  return [restart.text, provider.text, runtime.text, settings, evidence];
}

function platformsSentence(): string {
  const listOf = (fits: (platform: Platform) => boolean) =>
    platforms
      .filter((platform) => platform.is !== undefined && fits(platform))
      .map(({ name }) => name)
      .join(", ");
  const isExpected = ({ state }: Platform) => state === "expected";
  return [
    `Works on kubeadm and ${listOf(({ state }) => state === "tested")}.`,
    "Expected to work, but not run by our tests:",
    `${listOf((platform) => isExpected(platform) && platform.values === undefined)};`,
    `and with settings ${listOf((platform) => isExpected(platform) && platform.values !== undefined)}.`,
    `Not served: ${listOf(({ state }) => state === "unserved")}.`,
    "`kubectl pull-secret preflight` judges the nodes of your cluster by the same table, which is in",
    "[SUPPORT.md](SUPPORT.md) with our evidence.",
  ].join(" ");
}
