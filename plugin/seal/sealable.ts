/** Reads an input to seal: a pull secret's document, or the manifest of any Secret. */
import { Buffer, isUtf8 } from "node:buffer";
import { fieldsOf, isFields, type Fields } from "#contract/fields.ts";
import {
  namespace as kubeSystem,
  additionalSecretName,
  secretKeys,
  secretType,
} from "#contract/names.ts";
import { manifestsOf } from "../document/manifests.ts";
import { protectionOf, verdictOn } from "../document/verdict.ts";
import { Refused, type FileIo, type ScreenIo } from "../terminal/io.ts";

/** A Secret before we seal it: its keys with their bytes, and its public parts. */
export type Sealable = Readonly<{
  namespace: string;
  name: string;
  type: string;
  data: Readonly<Record<string, Uint8Array>>;
  immutable: boolean;
  labels: Readonly<Record<string, string>>;
  annotations: Readonly<Record<string, string>>;
}>;

type Place = Readonly<{ namespace: string; name: string }>;

/** Maximum number of bytes of a Secret. The API server enforces the same limit. */
export const longestManifest = 1024 * 1024;

const keyName = /^(?!\.{1,2}$|\.\.)[-._a-zA-Z0-9]{1,253}$/;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** kubectl stores the whole manifest in this annotation, including its values. */
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * Reads a document or a manifest, and checks a pull secret by the controller's rules. `place`
 * replaces the Secret's namespace and name. Throws Refused, with an error that does not contain the
 * Secret's values.
 */
export async function sealableFrom(
  bytes: Uint8Array,
  place: Place | undefined,
  io: Pick<ScreenIo, "err"> & Pick<FileIo, "documents">,
): Promise<Sealable> {
  const manifest = await manifestIn(bytes, io);
  const sealable = manifest === undefined ? ofDocument(bytes) : ofManifest(manifest, place);
  const { type, data } = sealable;
  const secret = { type, document: data[secretKeys.document] };
  if (type === secretType)
    for (const line of verdictOn(secret, protectionOf(undefined)).warnings) io.err(line);
  return { ...sealable, ...place };
}

const ofDocument = (bytes: Uint8Array): Sealable => ({
  namespace: kubeSystem,
  name: additionalSecretName,
  type: secretType,
  data: { [secretKeys.document]: bytes },
  immutable: false,
  labels: {},
  annotations: {},
});

/**
 * The manifest in a file. Undefined if the file is not a manifest. The caller then checks it as a
 * pull secret.
 */
async function manifestIn(
  bytes: Uint8Array,
  io: Pick<FileIo, "documents">,
): Promise<Fields | undefined> {
  if (!isUtf8(bytes) || bytes.length > longestManifest) return undefined;
  const all = await manifestsOf(bytes, io);
  const [first] = all;
  if (!isFields(first) || typeof first["kind"] !== "string") return undefined;
  if (all.length > 1) throw new Refused("the file has several documents; give one Secret");
  if (first["kind"] !== "Secret" || first["apiVersion"] !== "v1")
    throw new Refused("the manifest is not a Secret of apiVersion v1; give one");
  return first;
}

function ofManifest(manifest: Fields, place: Place | undefined): Sealable {
  const metadata = fieldsOf(manifest["metadata"]);
  const [name, namespace] = [metadata["name"], metadata["namespace"]];
  const named = typeof name === "string" && typeof namespace === "string";
  if (place === undefined && !named)
    throw new Refused(
      "metadata: name and namespace are needed, because the file is bound to them; " +
        "write both, or give --secret NAMESPACE/NAME",
    );
  const { type = "Opaque", immutable } = manifest;
  if (typeof type !== "string") throw new Refused("type: is not text");
  const { [lastApplied]: _values, ...annotations } = texts(metadata["annotations"]);
  return {
    namespace: typeof namespace === "string" ? namespace : "",
    name: typeof name === "string" ? name : "",
    type,
    data: dataOf(manifest),
    immutable: immutable === true,
    labels: texts(metadata["labels"]),
    annotations,
  };
}

/** stringData overwrites data, as in the API server. */
function dataOf({ data, stringData }: Fields): Record<string, Uint8Array> {
  const all: Record<string, Uint8Array> = {};
  for (const [key, value] of Object.entries(fieldsOf(data))) {
    const text = typeof value === "string" ? value.replace(/[\r\n]/g, "") : "!";
    if (!base64.test(text))
      throw new Refused(`data[${shown(key)}]: is not base64; encode it, or write it to stringData`);
    all[key] = Buffer.from(text, "base64");
  }
  for (const [key, value] of Object.entries(fieldsOf(stringData))) {
    if (typeof value !== "string")
      throw new Refused(`stringData[${shown(key)}]: is not text; put it in quotes`);
    all[key] = Buffer.from(value);
  }
  const odd = Object.keys(all).find((key) => !keyName.test(key));
  if (odd !== undefined)
    throw new Refused(`${shown(odd)}: is not a valid key; use letters, digits, - _ and .`);
  if (Object.keys(all).length === 0) throw new Refused("data: is empty; nothing is sealed");
  return all;
}

const shown = (key: string): string => JSON.stringify(key.slice(0, 64));
const texts = (value: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fieldsOf(value)).filter(
      (field): field is [string, string] => typeof field[1] === "string",
    ),
  );
