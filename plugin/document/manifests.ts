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
  }>;

/** A Secret of the cluster, to be examined like one of a file. */
export const ofLive = (label: string, live: V1Secret): FileSecret => ({
  ...partsOf(live),
  label,
  isBare: false,
  namespace: live.metadata?.namespace,
  name: live.metadata?.name,
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
}>;

/**
 * The pull secrets in a file, in JSON or YAML: Secrets, and lists of them. Other Secrets beside
 * them are left out. If there is no Secret, the file itself is the document.
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
  const bare = { label: file, isBare: true, ...place };
  return [{ ...bare, type: secretType, document: bytes }];
}

/** The one pull secret in a file. Throws Misuse if there are several. */
export async function readSecret(file: string, io: Reading): Promise<FileSecret> {
  const [secret, ...others] = await readSecrets(file, io);
  if (secret === undefined || others.length > 0)
    throw new Misuse(`${file}: has ${others.length + 1} pull secrets; give a file with one`);
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
    .flatMap((document) => {
      const { items } = document as Manifest;
      return Array.isArray(items) ? (items as readonly unknown[]) : [document];
    })
    .filter((document) => isObject(document));

const textIn = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;

function secretOf(
  { kind, type, metadata, data, stringData }: Manifest,
  file: string,
): FileSecret[] {
  if (kind !== "Secret") return [];
  const place = { namespace: textIn(metadata?.namespace), name: textIn(metadata?.name) };
  const label = `${file}: Secret/${place.name ?? "-"}`;
  // stringData overwrites data.
  const key = secretKeys.document;
  const [plain, encoded] = [textIn(stringData?.[key]), textIn(data?.[key])];
  const bytes = encoded === undefined ? undefined : decoded(encoded, label);
  const document = plain === undefined ? bytes : Buffer.from(plain);
  // The API server makes a Secret without a type Opaque.
  return [{ label, isBare: false, ...place, type: textIn(type) ?? "Opaque", document }];
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
