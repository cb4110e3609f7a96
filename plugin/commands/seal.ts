/**
 * `seal`: encrypts a Secret into files that are safe in Git: one file for each cluster. Only the
 * cluster itself can decrypt its file.
 */
import type { Rule } from "#contract/flags.ts";
import type { Table } from "#contract/table.ts";
import { additionalSecretName, namespace } from "#contract/names.ts";
import { Wrong } from "#contract/values.ts";
import { escape } from "#pullsecret/problems/keypath.ts";
import { clusterFlags } from "../cluster/flags.ts";
import { routesTo } from "../clusters/contexts.ts";
import { cluster, clusterName } from "../clusters/profile.ts";
import { whyNot } from "../clusters/place.ts";
import { path } from "../document/operands.ts";
import {
  longestCertificate,
  readCertificate,
  type Certificate,
  fetchCertificate,
} from "../seal/certificate.ts";
import { type SealTarget, sealedSecret } from "../seal/sealed-secret.ts";
import {
  clustersIn,
  foreignIn,
  indexOf,
  writeFiles,
  fileOf,
  indexName,
  type Sealed,
  writeIndex,
} from "../seal/folder.ts";
import { longestManifest, sealableFrom } from "../seal/sealable.ts";
import { command } from "../terminal/command.ts";
import { Misuse, Refused, type ClusterIo, type FileIo, type Reach } from "../terminal/io.ts";

type Given = Readonly<{ cluster: string; file: string }>;

function certificateFile(text: string): Given | Wrong {
  const at = text.indexOf("=");
  const [cluster, file] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
  return clusterName.test(cluster) && file !== ""
    ? { cluster, file }
    : new Wrong("is not CLUSTER=FILE (example: east=east.pem)");
}

/** Reads NAME or NAMESPACE/NAME of a Secret. A sealed value is valid only for this Secret. */
function secretAt(text: string): Readonly<{ namespace: string; name: string }> | Wrong {
  const [name = "", where = namespace, ...more] = text.split("/").toReversed();
  const isName = name.length <= 253 && name.split(".").every((label) => clusterName.test(label));
  return isName && clusterName.test(where) && more.length === 0
    ? { namespace: where, name }
    : new Wrong("is not NAME or NAMESPACE/NAME of a Secret (example: web/regcred)");
}

const flags = {
  file: {
    read: path,
    required: true,
    short: "f",
    what: "the Secret's manifest, or a pull secret's JSON; - for standard input",
  },
  cert: {
    read: certificateFile,
    repeated: true,
    what: "CLUSTER=FILE, a cluster's public certificate",
  },
  secret: {
    read: secretAt,
    what: `the Secret to create, NAME of ${namespace} or NAMESPACE/NAME [the manifest's own, or ${additionalSecretName}]`,
  },
  renewed: {
    read: cluster,
    repeated: true,
    what: "a cluster whose certificate has changed on purpose",
  },
  "output-directory": {
    read: path,
    required: true,
    short: "o",
    what: "directory for the files and their index",
  },
  "controller-namespace": {
    read: cluster,
    standard: namespace,
    what: "the namespace of Sealed Secrets' controller in the joined clusters",
  },
  "controller-name": {
    read: cluster,
    standard: "sealed-secrets-controller",
    what: "the name of its Service",
  },
  ...clusterFlags,
  cluster: {
    read: cluster,
    repeated: true,
    what: "a joined cluster, whose certificate is fetched with your own context",
  },
} as const satisfies Table;

const hasCluster: Rule<typeof flags> = ({ cert = [], cluster: joined = [] }) =>
  cert.length + joined.length === 0
    ? "--cert: is missing; give CLUSTER=FILE, or --cluster with a joined cluster"
    : undefined;

export const seal = command(
  {
    group: "fleet",
    what: "seal a Secret for clusters with Sealed Secrets, to keep it in Git",
    example: "-f pull-secret.json --cert east=east.pem --cert west=west.pem -o sealed",
    more:
      "Takes the manifest of a Secret of any type, or the JSON of a pull secret, which it checks by\n" +
      "the controller's rules. Writes a SealedSecret for each cluster, which only that cluster can\n" +
      "open, and index.json, with the clusters and the fingerprints and end dates of their\n" +
      "certificates. If a cluster's certificate differs from the index, the command shows both and\n" +
      "writes nothing until you name the cluster with --renewed. With only --cert, it contacts no\n" +
      "cluster.",
    flags,
    rules: [hasCluster],
  },
  async ({ cert, file, "output-directory": output, ...how }, io) => {
    const fetched = how.cluster.length === 0 ? [] : await fetchAll(how, io);
    const certificates = withFetched(await readAll(cert, io), fetched);
    const secret = await sealableFrom(await io.read(file, longestManifest), how.secret, io);
    const { namespace: where, name: called } = secret;
    const target: SealTarget = { namespace: where, name: called };
    const before = sealedBefore(output, target, certificates);
    refuseChanged(before, certificates, new Set(how.renewed));
    for (const line of sharedLines({ ...before, ...certificates })) io.err(line);
    const files: Record<string, string> = {};
    const clusters = { ...before };
    for (const [name, certificate] of Object.entries(certificates)) {
      files[fileOf(name)] = await io.yaml(sealedSecret(secret, certificate, target));
      const { fingerprint, until } = certificate;
      clusters[name] = { fingerprint, until };
    }
    const foreign = foreignIn(output, Object.keys(files));
    if (foreign !== undefined)
      throw new Refused(`${output}/${foreign}: is not a sealed file; give another directory`);
    await writeFiles(output, { ...files, [indexName]: writeIndex({ ...target, clusters }) });
    io.out(`${output}: sealed for ${Object.keys(certificates).join(", ")}\n`);
    const others = Object.keys(before).filter((name) => !Object.hasOwn(certificates, name));
    if (others.length > 0) io.err(`not sealed again: ${others.join(", ")}`);
    return 0;
  },
);

async function readAll(files: readonly Given[], io: FileIo): Promise<Record<string, Certificate>> {
  const certificates: Record<string, Certificate> = {};
  const now = new Date();
  for (const { cluster: name, file } of files) {
    if (Object.hasOwn(certificates, name)) throw new Misuse(`--cert ${name}: given 2 times`);
    const pem = await io.read(file, longestCertificate);
    certificates[name] = readCertificate(pem, `--cert ${name}`, now);
  }
  return certificates;
}

type Fetched = Readonly<{ cluster: string }> &
  (Readonly<{ certificate: Certificate }> | Readonly<{ why: string }>);

type How = Reach &
  Readonly<{
    cluster: readonly string[];
    "controller-namespace": string;
    "controller-name": string;
  }>;

/**
 * Fetches the certificates of the named clusters through the caller's own contexts.
 */
async function fetchAll(how: How, io: ClusterIo): Promise<readonly Fetched[]> {
  const routes = await routesTo(await io.reach(how), how.cluster, how, io);
  const controller = { namespace: how["controller-namespace"], name: how["controller-name"] };
  const now = new Date();
  return Promise.all(
    routes.map(async ({ name, reach }) => {
      try {
        const pem = await fetchCertificate(await reach(), controller);
        const certificate = readCertificate(pem, `--cluster ${name}`, now);
        return { cluster: name, certificate };
      } catch (error) {
        return { cluster: name, why: whyNot(error) };
      }
    }),
  );
}

/**
 * Adds the fetched certificates to the given certificates. Throws Refused if we could not fetch
 * all.
 */
function withFetched(
  fileCertificates: Readonly<Record<string, Certificate>>,
  fetched: readonly Fetched[],
): Record<string, Certificate> {
  const all = { ...fileCertificates };
  const wrong: string[] = [];
  for (const { cluster: name, ...entry } of fetched) {
    if (Object.hasOwn(all, name)) throw new Misuse(`--cluster ${name}: is given by --cert already`);
    if ("why" in entry) wrong.push(`--cluster ${name}: ${entry.why}`);
    else all[name] = entry.certificate;
  }
  if (wrong.length > 0) throw new Refused(wrong.join("\n"));
  return all;
}

/**
 * Lines that warn about clusters with the same certificate. Either these clusters share a key on
 * purpose, or the caller named a wrong certificate.
 */
function sharedLines(
  all: Readonly<Record<string, Pick<Sealed, "fingerprint">>>,
): readonly string[] {
  const clusters = new Map<string, string[]>();
  for (const [name, { fingerprint }] of Object.entries(all))
    clusters.set(fingerprint, [...(clusters.get(fingerprint) ?? []), name]);
  return [...clusters.values()]
    .filter((names) => names.length > 1)
    .map(
      (names) =>
        `warning: ${names.join(", ")}: have the same certificate, so each can open the other's ` +
        "file; unless they share a key on purpose, give each its own certificate",
    );
}

/**
 * The clusters in the directory's index that have a file or that the command line names. Throws
 * Refused if the index is for another Secret.
 */
function sealedBefore(
  directory: string,
  { namespace: where, name }: SealTarget,
  named: Readonly<Record<string, Certificate>>,
): Readonly<Record<string, Sealed>> {
  const index = indexOf(directory);
  if (index === undefined) return {};
  if (index.namespace !== where || index.name !== name)
    throw new Refused(
      `${directory}: holds ${escape(`${index.namespace}/${index.name}`)}; ` +
        "give the same --secret, or another directory",
    );
  const files = clustersIn(directory);
  return Object.fromEntries(
    Object.entries(index.clusters).filter(
      ([cluster]) => files.has(cluster) || Object.hasOwn(named, cluster),
    ),
  );
}

function refuseChanged(
  before: Readonly<Record<string, Sealed>>,
  certificates: Readonly<Record<string, Certificate>>,
  renewed: ReadonlySet<string>,
): void {
  const lines = Object.entries(certificates).flatMap(([name, { fingerprint, until }]) => {
    const was = Object.hasOwn(before, name) ? before[name] : undefined;
    if (was === undefined || was.fingerprint === fingerprint || renewed.has(name)) return [];
    return [
      `${name}: has another certificate, ${fingerprint} until ${until}; the index has ` +
        `${escape(was.fingerprint)} until ${escape(was.until)}; if it was renewed, give --renewed ${name}`,
    ];
  });
  if (lines.length > 0) throw new Refused(lines.join("\n"));
}
