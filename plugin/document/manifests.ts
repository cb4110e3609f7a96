/**
 * Reads the pull secrets in a file: the document itself, or manifests that contain such documents.
 * Every command that takes a pull secret reads it here.
 */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import { secretKeys, secretType } from "#contract/names.ts";
import { partsOf, type SecretParts } from "#pullsecret/document/secret.ts";
import { Misuse, type FileIo } from "../terminal/io.ts";

/** A pull secret in a file. A bare document counts as a Secret of the right type. */
export type FileSecret = SecretParts &
  Readonly<{
    /** Names the file, and the object in it. */
    label: string;
    /** True for a document without a manifest around it. */
    isBare: boolean;
    /** The Secret's place, as far as the manifest names it. */
    namespace: string | undefined;
    name: string | undefined;
    /** True if a tool fills in the values later, so that we can check only the shape. */
    isTemplate: boolean;
  }>;

/** A Secret of the cluster, to be examined like one of a file. */
export const ofLive = (label: string, live: V1Secret): FileSecret => ({
  ...partsOf(live),
  label,
  isBare: false,
  namespace: live.metadata?.namespace,
  name: live.metadata?.name,
  isTemplate: false,
});

/**
 * Maximum number of bytes of a file: 16 times the size of the largest Secret. The kubelet has no
 * limit for config.json, and a file can have many manifests.
 */
const longestFile = 16 * 1024 * 1024;

type Reading = Pick<FileIo, "read" | "documents">;

/** The fields of manifests that we read. */
type Manifest = Readonly<{
  kind?: unknown;
  type?: unknown;
  metadata?: Readonly<{ name?: unknown; namespace?: unknown }>;
  items?: unknown;
  data?: Readonly<Record<string, unknown>>;
  stringData?: Readonly<Record<string, unknown>>;
  spec?: Readonly<{ target?: Target; externalSecretSpec?: Readonly<{ target?: Target }> }>;
}>;

/** The Secret that External Secrets Operator creates from an ExternalSecret. */
type Target = Readonly<{
  name?: unknown;
  template?: Readonly<{ type?: unknown; data?: Readonly<Record<string, unknown>> }>;
}>;

/**
 * The pull secrets in a file, in JSON or YAML: Secrets, ExternalSecrets with a template, and lists
 * of them. Other Secrets beside them are left out. If there is no manifest, the file itself is the
 * document.
 */
export async function readSecrets(file: string, io: Reading): Promise<readonly FileSecret[]> {
  const bytes = await io.read(file, longestFile);
  if (bytes.length > longestFile)
    throw new Misuse(`${file}: longer than 16 MiB; give a pull secret, or manifests`);
  const manifests = await manifestsOf(bytes, io);
  const secrets = manifests.flatMap((manifest) => secretOf(manifest as Manifest, file));
  const pullSecrets = secrets.filter(
    ({ type, document }) => type === secretType || document !== undefined,
  );
  if (secrets.length > 0) return pullSecrets.length > 0 ? pullSecrets : secrets;
  const place = { namespace: undefined, name: undefined };
  const bare = { label: file, isBare: true, isTemplate: false, ...place };
  return [{ ...bare, type: secretType, document: bytes }];
}

/** The one pull secret in a file. Throws Misuse if there are several, or if it is a template. */
export async function readSecret(file: string, io: Reading): Promise<FileSecret> {
  const [secret, ...others] = await readSecrets(file, io);
  if (secret === undefined || others.length > 0)
    throw new Misuse(`${file}: has ${others.length + 1} pull secrets; give a file with one`);
  if (secret.isTemplate)
    throw new Misuse(
      `${secret.label}: is a template, which another tool fills in; give the Secret that it makes`,
    );
  return secret;
}

/** The objects in a text, in JSON or YAML, and in lists. Empty if the text is not a manifest. */
export async function manifestsOf(
  bytes: Uint8Array,
  io: Pick<FileIo, "documents">,
): Promise<readonly object[]> {
  const text = Buffer.from(bytes).toString("utf8");
  // Does not give a file without `kind` to the YAML reader, which needs seconds for a pull secret
  // of 1 MiB.
  if (!/^[ \t]*["']?kind["']?[ \t]*:/m.test(text) && !/"kind"\s*:/.test(text)) return [];
  // We drop the reader's error, because it can quote the text.
  return flat(await io.documents(text).catch(() => []));
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

/** Looks into a list once: in YAML, a list can contain itself. */
const flat = (documents: readonly unknown[]): object[] =>
  documents
    .filter((document) => isObject(document))
    .flatMap((document) => {
      const { items } = document as Manifest;
      return Array.isArray(items) ? (items as readonly unknown[]) : [document];
    })
    .filter((document) => isObject(document));

const textIn = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;

function secretOf(manifest: Manifest, file: string): FileSecret[] {
  const { kind, metadata, data, stringData, spec } = manifest;
  const place = { namespace: textIn(metadata?.namespace), name: textIn(metadata?.name) };
  const found = { label: `${file}: ${String(kind)}/${place.name ?? "-"}`, isBare: false, ...place };
  const key = secretKeys.document;
  if (kind === "Secret") {
    // stringData overwrites data.
    const [plain, encoded] = [textIn(stringData?.[key]), textIn(data?.[key])];
    const bytes = encoded === undefined ? undefined : decoded(encoded, found.label);
    const content = plain === undefined ? { document: bytes, isTemplate: false } : filled(plain);
    return [{ ...found, type: typeOf(manifest.type), ...content }];
  }
  if (kind !== "ExternalSecret" && kind !== "ClusterExternalSecret") return [];
  const target = spec?.target ?? spec?.externalSecretSpec?.target;
  const template = textIn(target?.template?.data?.[key]);
  if (template === undefined) return [];
  const name = textIn(target?.name) ?? place.name;
  const type = typeOf(target?.template?.type);
  return [{ ...found, ...filled(template), name, type, isTemplate: true }];
}

/** The bytes of a field of `data`. Throws Misuse if the API server would not decode it. */
function decoded(text: string, label: string): Buffer {
  const bytes = Buffer.from(text, "base64");
  if (bytes.toString("base64") !== text.replaceAll(/[\r\n]/g, ""))
    throw new Misuse(
      `${label}: data["${secretKeys.document}"]: is not base64, so the API server refuses it; put ` +
        "a text under stringData",
    );
  return bytes;
}

/** The API server, and External Secrets, make a Secret without a type Opaque. */
const typeOf = (type: unknown): string => textIn(type) ?? "Opaque";

/** An action of a Go template, such as `{{ .x }}` or `{{- .x -}}`. */
const action = /\{\{-?.*?-?\}\}/gs;

/**
 * The document, with a valid value in place of each action of a template: a registry for a key that
 * contains an action, and the base64 of a user and a password for any other action.
 */
function filled(text: string): Pick<FileSecret, "isTemplate"> & Readonly<{ document: Buffer }> {
  const isTemplate = text.search(action) >= 0;
  const values = text
    .replace(/"(?:[^"\n]*?\{\{-?.*?-?\}\}[^"\n]*?)"(?=\s*:)/gs, '"registry.example"')
    .replace(action, "dTpw");
  return { document: Buffer.from(values), isTemplate };
}

/** Whether a tool fills in the whole document, so that there is no shape to check. */
export const isWholeTemplate = ({ document = Buffer.alloc(0), isTemplate }: FileSecret): boolean =>
  isTemplate && Buffer.from(document).toString("utf8").trim() === "dTpw";
