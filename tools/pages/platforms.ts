/** The platforms of SUPPORT.md, from the table that `preflight` uses. */
import { readFileSync } from "node:fs";
import { platforms, settingsOf, type Platform } from "#plugin/show/platforms.ts";
import { table } from "./markdown.ts";

/** SUPPORT.md with the table between its marks replaced. */
export function supportPage(): string {
  const marked = /(<!-- platforms -->\n\n)[^]*?(<!-- \/platforms -->)/;
  return readFileSync("SUPPORT.md", "utf8").replace(marked, (_, begin: string, end: string) => {
    return `${begin}${platformsTable()}\n\n${end}`;
  });
}

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
