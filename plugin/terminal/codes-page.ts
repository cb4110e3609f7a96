/** The page of all codes. `npm run build` puts its text into the plugin, instead of this file. */
import { readFileSync } from "node:fs";
import { codesPage as path } from "#contract/help.ts";

/** The page in Markdown. */
export const codesPage = (): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
