/** Reads all manifests of a folder or a file, before we send the first manifest to a cluster. */
import { Buffer, isUtf8 } from "node:buffer";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { Misuse, Refused, type FileIo } from "../terminal/io.ts";

export type Manifest = Readonly<{
  apiVersion: string;
  kind: string;
  metadata: Readonly<{ name: string; namespace?: string }>;
}>;

/**
 * Maximum number of bytes of one file. The largest file that we know, a CRD of Cluster API, has 1
 * MiB.
 */
const longest = 4 * 1024 * 1024;
const mostFiles = 1000;
const suffix = /\.(?:ya?ml|json)$/;

/**
 * The objects of a file, or of a folder's files in the order of the files' names. CRDs and
 * namespaces come first, because other objects need them. Throws Misuse for a file that cannot be
 * read, and Refused for a document that is not a manifest. Errors never quote a file's text.
 */
export async function readManifests(
  path: string,
  io: Pick<FileIo, "read" | "documents">,
): Promise<readonly Manifest[]> {
  const all: Manifest[] = [];
  for (const file of filesOf(path)) {
    const bytes = await io.read(file, longest);
    if (bytes.length > longest) throw new Refused(`${file}: is longer than 4 MiB; split it`);
    for (const [at, document] of (await documentsOf(file, bytes, io)).entries())
      all.push(...objectsOf(document, `${file}: document ${at + 1}`));
  }
  if (all.length === 0) throw new Refused(`${path}: holds no manifest (.yaml, .yml or .json)`);
  return all.toSorted((a, b) => rank(a) - rank(b));
}

function filesOf(path: string): readonly string[] {
  if (path === "-") return [path];
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory() !== true) return [path];
  const names = readdirSync(path).filter((name) => suffix.test(name));
  if (names.length > mostFiles) throw new Misuse(`${path}: more than ${mostFiles} files`);
  return names.toSorted().map((name) => join(path, name));
}

async function documentsOf(
  file: string,
  bytes: Uint8Array,
  io: Pick<FileIo, "documents">,
): Promise<readonly unknown[]> {
  // Decoding would replace invalid bytes by another character, and we would apply this character.
  if (!isUtf8(bytes)) throw new Refused(`${file}: is not UTF-8`);
  try {
    return await io.documents(Buffer.from(bytes).toString("utf8"));
  } catch {
    throw new Refused(`${file}: is not YAML`); // We drop the error, because it quotes the text.
  }
}

function objectsOf(value: unknown, where: string): readonly Manifest[] {
  const { kind, apiVersion, metadata, items } = (value ?? {}) as Partial<Manifest> & {
    items?: unknown;
  };
  if (kind === "List" && Array.isArray(items))
    return items.flatMap((item, at) => objectsOf(item, `${where}, item ${at + 1}`));
  const named = typeof metadata?.name === "string" && metadata.name !== "";
  if (typeof kind !== "string" || typeof apiVersion !== "string" || !named)
    throw new Refused(`${where}: has no apiVersion, kind and metadata.name; nothing is applied`);
  return [value as Manifest];
}

const first = ["Namespace", "CustomResourceDefinition"];
const rank = ({ kind }: Manifest): number => (first.includes(kind) ? first.indexOf(kind) : 2);
