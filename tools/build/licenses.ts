/**
 * The licences of the bundled packages. Most licences require that their text is shipped with the
 * code.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * One text for these packages (folders below `root`), sorted by name: name, version, licence, and
 * the licence's whole text, or the author if the package has no licence text.
 */
export function licensesOf(packages: ReadonlySet<string>, root = "."): string {
  return [...packages]
    .toSorted()
    .map((folder) => licenseOf(join(root, folder)))
    .join("\n");
}

type Manifest = Readonly<{ name: string; version: string; license?: string; author?: unknown }>;

function licenseOf(folder: string): string {
  const read = (file: string) => readFileSync(join(folder, file), "utf8");
  const { name, version, license, author } = JSON.parse(read("package.json")) as Manifest;
  const text = readdirSync(folder).find((file) => /^licen[cs]e(\.|$)/i.test(file));
  const by = typeof author === "string" ? author : (author as { name?: string } | undefined)?.name;
  const body = text === undefined ? `by ${by ?? "its authors"}` : read(text).trim();
  return `${name} ${version}: ${license ?? "see below"}\n\n${body}\n`;
}
