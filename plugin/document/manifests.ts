/** The pull secrets in a file of a pipeline: the JSON itself, or manifests that contain it. */
import { Buffer } from "node:buffer";
import { secretKeys } from "#contract/names.ts";
import type { Io } from "../terminal/io.ts";

export type FoundDocument = Readonly<{
  /** The file, and the object in it. */
  name: string;
  bytes: Uint8Array;
  /** A tool fills in the values later, so we can check only the shape. */
  isTemplate: boolean;
}>;

/** The members of manifests that we read. */
type Manifest = Readonly<{
  kind?: string;
  metadata?: Readonly<{ name?: unknown }>;
  items?: unknown;
  data?: Readonly<Record<string, unknown>>;
  stringData?: Readonly<Record<string, unknown>>;
  spec?: Readonly<{ target?: Target; externalSecretSpec?: Readonly<{ target?: Target }> }>;
}>;

/** The place of the content of the Secret that External Secrets Operator creates. */
type Target = Readonly<{ template?: Readonly<{ data?: Readonly<Record<string, unknown>> }> }>;

/**
 * Finds the pull secrets in a file: in Secrets, in ExternalSecrets and in lists of them, in JSON or
 * YAML. If the file has no manifest with a pull secret, we treat the file itself as a pull secret.
 * The verdict then reports the problem.
 */
export async function documentsIn(
  file: string,
  bytes: Uint8Array,
  io: Pick<Io, "documents">,
): Promise<readonly FoundDocument[]> {
  const text = Buffer.from(bytes).toString("utf8");
  const found = (await manifestsIn(text, io)).flatMap((one) => pullSecretOf(one, file));
  return found.length > 0 ? found : [{ name: file, bytes, isTemplate: false }];
}

async function manifestsIn(text: string, io: Pick<Io, "documents">): Promise<Manifest[]> {
  // The YAML reader also accepts JSON, but needs seconds for a pull secret of 1 MiB.
  if (!/^[ \t]*["']?kind["']?[ \t]*:/m.test(text) && !/"kind"\s*:/.test(text)) return [];
  // The reader's error may quote the text.
  return flat(await io.documents(text).catch(() => []));
}

const flat = (documents: readonly unknown[]): Manifest[] =>
  documents.flatMap((one): Manifest[] => {
    if (typeof one !== "object" || one === null) return [];
    const { items } = one as Manifest;
    return Array.isArray(items) ? flat(items) : [one];
  });

function pullSecretOf(manifest: Manifest, file: string): FoundDocument[] {
  const { kind, metadata, data, stringData, spec } = manifest;
  const called = typeof metadata?.name === "string" ? metadata.name : "-";
  const name = `${file}: ${kind ?? ""}/${called}`;
  const key = secretKeys.document;
  if (kind === "Secret") {
    // stringData overwrites data.
    const [plain, encoded] = [stringData?.[key], data?.[key]];
    if (typeof plain === "string") return [documentOf(name, plain)];
    if (typeof encoded !== "string") return [];
    return [{ name, bytes: Buffer.from(encoded, "base64"), isTemplate: false }];
  }
  if (kind !== "ExternalSecret" && kind !== "ClusterExternalSecret") return [];
  const target = spec?.target ?? spec?.externalSecretSpec?.target;
  const template = target?.template?.data?.[key];
  return typeof template === "string" ? [documentOf(name, template)] : [];
}

/** An action of a Go template, with white space control. */
const action = /\{\{-?.*?-?\}\}/gs;

/**
 * The document in which a valid value replaces each action of a template (`{{ … }}`). A registry
 * replaces a key. The base64 of a user and a password replaces all other actions.
 */
function documentOf(name: string, text: string): FoundDocument {
  const isTemplate = text.search(action) >= 0;
  const filled = text
    .replace(/"(?:[^"\n]*?\{\{-?.*?-?\}\}[^"\n]*?)"(?=\s*:)/gs, '"registry.example"')
    .replace(action, "dTpw");
  return { name, bytes: Buffer.from(filled), isTemplate };
}

/** Whether a tool fills in the whole document, so that there is no shape to check. */
export const isWholeTemplate = ({ bytes, isTemplate }: FoundDocument): boolean =>
  isTemplate && Buffer.from(bytes).toString("utf8").trim() === "dTpw";
