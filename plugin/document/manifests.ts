/**
 * Finds the pull secrets in a file: the document itself, or manifests that contain such documents.
 */
import { Buffer } from "node:buffer";
import { secretKeys } from "#contract/names.ts";
import type { FileIo } from "../terminal/io.ts";

export type FoundDocument = Readonly<{
  /** Names the file, and the object in it. */
  name: string;
  bytes: Uint8Array;
  /** True if a tool fills in the values later, so that we can check only the shape. */
  isTemplate: boolean;
  /** The Secret's type and namespace. Undefined for a bare document. */
  secret: Readonly<{ type: string; namespace: string | undefined }> | undefined;
}>;

/** The fields of manifests that we read. */
type Manifest = Readonly<{
  kind?: string;
  type?: unknown;
  metadata?: Readonly<{ name?: unknown; namespace?: unknown }>;
  items?: unknown;
  data?: Readonly<Record<string, unknown>>;
  stringData?: Readonly<Record<string, unknown>>;
  spec?: Readonly<{ target?: Target; externalSecretSpec?: Readonly<{ target?: Target }> }>;
}>;

/**
 * The part of an ExternalSecret that contains the content of the Secret that External Secrets
 * Operator creates.
 */
type Target = Readonly<{
  template?: Readonly<{ type?: unknown; data?: Readonly<Record<string, unknown>> }>;
}>;

/**
 * Finds the pull secrets in a file, in JSON or YAML: in Secrets, in ExternalSecrets, and in lists
 * of them. If there are none, we treat the file itself as a pull secret, and its check reports any
 * problem.
 */
export async function documentsIn(
  file: string,
  bytes: Uint8Array,
  io: Pick<FileIo, "documents">,
): Promise<readonly FoundDocument[]> {
  const text = Buffer.from(bytes).toString("utf8");
  const documents = (await manifestsIn(text, io)).flatMap((manifest) =>
    pullSecretOf(manifest, file),
  );
  return documents.length > 0
    ? documents
    : [{ name: file, bytes, isTemplate: false, secret: undefined }];
}

async function manifestsIn(text: string, io: Pick<FileIo, "documents">): Promise<Manifest[]> {
  // Does not give a file without `kind` to the YAML reader, which needs seconds for a pull secret
  // of 1 MiB.
  if (!/^[ \t]*["']?kind["']?[ \t]*:/m.test(text) && !/"kind"\s*:/.test(text)) return [];
  // We drop the reader's error, because it can quote the text.
  return flat(await io.documents(text).catch(() => []));
}

const flat = (documents: readonly unknown[]): Manifest[] =>
  documents.flatMap((document): Manifest[] => {
    if (typeof document !== "object" || document === null) return [];
    const { items } = document as Manifest;
    return Array.isArray(items) ? flat(items) : [document];
  });

function pullSecretOf(manifest: Manifest, file: string): FoundDocument[] {
  const { kind, metadata, data, stringData, spec } = manifest;
  const called = typeof metadata?.name === "string" ? metadata.name : "-";
  const name = `${file}: ${kind ?? ""}/${called}`;
  const namespace = typeof metadata?.namespace === "string" ? metadata.namespace : undefined;
  // The API server, and External Secrets, make a Secret without a type Opaque.
  const secretOf = (type: unknown) => ({
    type: typeof type === "string" ? type : "Opaque",
    namespace,
  });
  const key = secretKeys.document;
  if (kind === "Secret") {
    // stringData overwrites data.
    const [plain, encoded] = [stringData?.[key], data?.[key]];
    const secret = secretOf(manifest.type);
    if (typeof plain === "string") return [{ ...documentOf(name, plain), secret }];
    if (typeof encoded !== "string") return [];
    return [{ name, bytes: Buffer.from(encoded, "base64"), isTemplate: false, secret }];
  }
  if (kind !== "ExternalSecret" && kind !== "ClusterExternalSecret") return [];
  const target = spec?.target ?? spec?.externalSecretSpec?.target;
  const template = target?.template?.data?.[key];
  if (typeof template !== "string") return [];
  return [{ ...documentOf(name, template), secret: secretOf(target?.template?.type) }];
}

/** An action of a Go template, such as `{{ .x }}` or `{{- .x -}}`. */
const action = /\{\{-?.*?-?\}\}/gs;

/**
 * The document, with a valid value in place of each action of a template: a registry for a key that
 * contains an action, and the base64 of a user and a password for any other action.
 */
function documentOf(name: string, text: string): Omit<FoundDocument, "secret"> {
  const isTemplate = text.search(action) >= 0;
  const filled = text
    .replace(/"(?:[^"\n]*?\{\{-?.*?-?\}\}[^"\n]*?)"(?=\s*:)/gs, '"registry.example"')
    .replace(action, "dTpw");
  return { name, bytes: Buffer.from(filled), isTemplate };
}

/** Whether a tool fills in the whole document, so that there is no shape to check. */
export const isWholeTemplate = ({ bytes, isTemplate }: FoundDocument): boolean =>
  isTemplate && Buffer.from(bytes).toString("utf8").trim() === "dTpw";
