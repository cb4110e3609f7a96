/** The pull secrets in a file as pipelines have it: the JSON itself, or manifests around it. */
import { Buffer } from "node:buffer";
import { secretKeys } from "#contract/names.ts";
import type { Io } from "../terminal/io.ts";

export type FoundDocument = Readonly<{
  /** The file, and the object in it. */
  name: string;
  bytes: Uint8Array;
  /** Values that a tool fills in later: only the shape could be judged. */
  isTemplate: boolean;
}>;

/** The members of manifests that count here. */
type Manifest = Readonly<{
  kind?: string;
  metadata?: Readonly<{ name?: unknown }>;
  items?: unknown;
  data?: Readonly<Record<string, unknown>>;
  stringData?: Readonly<Record<string, unknown>>;
  spec?: Readonly<{ target?: Target; externalSecretSpec?: Readonly<{ target?: Target }> }>;
}>;

/** Where External Secrets Operator has the content of the Secret that it makes. */
type Target = Readonly<{ template?: Readonly<{ data?: Readonly<Record<string, unknown>> }> }>;

/**
 * The pull secrets of a file: of Secrets, ExternalSecrets and lists of them, in JSON or YAML. A
 * file that is no such manifest, or has none with a pull secret, is taken as one itself, so that
 * the verdict on it says what it is.
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
  // YAML's reader takes JSON, too, but a pull secret of 1 MiB costs it seconds.
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
    // stringData is written over data.
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

/** Go's template, with white space control. */
const action = /\{\{-?.*?-?\}\}/gs;

/**
 * A document in which each action of a template is a value that would be in order: a registry where
 * a key stands, and else the base64 of a user and a password.
 */
function documentOf(name: string, text: string): FoundDocument {
  const isTemplate = text.search(action) >= 0;
  const filled = text
    .replace(/"(?:[^"\n]*?\{\{-?.*?-?\}\}[^"\n]*?)"(?=\s*:)/gs, '"registry.example"')
    .replace(action, "dTpw");
  return { name, bytes: Buffer.from(filled), isTemplate };
}

/** Whether a tool fills in all of it: then there is no shape to judge. */
export const isWholeTemplate = ({ bytes, isTemplate }: FoundDocument): boolean =>
  isTemplate && Buffer.from(bytes).toString("utf8").trim() === "dTpw";
