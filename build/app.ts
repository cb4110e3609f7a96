/** The agent's part of the image's /app, for those who need it without an image. */
import { copyFileSync } from "node:fs";
import { join } from "node:path";

/** Copies what the image's build starts with from dist/; `node FOLDER/warm.cjs` then leaves the cache beside it. */
export function copyAgent(folder: string): void {
  for (const name of ["agent.cjs", "start.cjs", "warm.cjs"]) copyFileSync(join("dist", name), join(folder, name));
}

/** A program for `node -e`: prints whether V8 refuses the folder's cache. */
export function cacheQuestion(folder: string): string {
  return `
    const [source, cachedData] = ["cjs", "cache"].map((ending) => require("node:fs").readFileSync("${folder}/agent." + ending));
    const wrapped = require("node:module").wrap(source.toString());
    console.log(new (require("node:vm").Script)(wrapped, { cachedData }).cachedDataRejected);`;
}
