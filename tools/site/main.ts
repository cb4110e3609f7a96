/**
 * `npm run site [-- --base /PATH/ --out FOLDER]`: writes the site that config.ts describes. PATH is
 * where you serve the site. FOLDER is dist/site, if you name none.
 */
import { parseArgs } from "node:util";
import { build } from "vitepress";

const text = { type: "string" } as const;
const { values } = parseArgs({ options: { base: text, out: text } });
await build(import.meta.dirname, { base: values.base ?? "/", outDir: values.out ?? "dist/site" });
