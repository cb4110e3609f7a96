/** Everything that can be wrong with a kubeconfig that is read as data, each with its code. */
import { messagesOf, type Catalogue, type Problem } from "#contract/catalogue.ts";
import { formatPath, type Steps } from "#pullsecret/problems/keypath.ts";

/**
 * Kind → code, problem, action. Each problem makes us refuse the whole kubeconfig. `loopback`
 * occurs only in joins.
 */
export const catalogue = {
  tooBig: ["GPS401", "longer than 256 KiB", "give the kubeconfig of one cluster"],
  notYaml: ["GPS402", "not one YAML document", "give the kubeconfig as kubectl writes it"],
  notObject: ["GPS403", "not an object", "give the kubeconfig as kubectl writes it"],
  missing: [
    "GPS404",
    "names an entry that does not occur exactly once",
    "name an entry that occurs once",
  ],
  server: [
    "GPS405",
    "is not an https URL without user, query and fragment",
    "give a URL such as https://api.example.com:6443",
  ],
  authority: [
    "GPS406",
    "is missing, or is not base64 of PEM certificates",
    "give the API server's authority, or ask for the system's roots (page Hosted control planes)",
  ],
  serverName: ["GPS407", "is not a host name", "give the name in the API server's certificate"],
  exec: ["GPS408", "would run a program", "give a token, or a client certificate and its key"],
  authProvider: [
    "GPS409",
    "would contact another service",
    "give a token, or a client certificate and its key",
  ],
  file: [
    "GPS410",
    "refers to a file on this machine",
    "put the file's content into the field with -data",
  ],
  insecure: ["GPS411", "would trust any server", "remove it, and give certificate-authority-data"],
  proxy: ["GPS412", "would use a proxy", "remove it"],
  impersonation: ["GPS413", "would act as another user", "give that user's own credential"],
  password: [
    "GPS414",
    "is not supported by current API servers",
    "give a token, or a client certificate and its key",
  ],
  noCredential: [
    "GPS415",
    "has no credential",
    "give a token, or a client certificate and its key",
  ],
  token: ["GPS416", "is not a valid token", "give the token in one line, without spaces"],
  certificate: [
    "GPS417",
    "is not a certificate with its unencrypted key",
    "give both as base64 of PEM; they must belong together",
  ],
  unknownField: ["GPS418", "has an unknown field", "remove fields that are not needed to connect"],
  loopback: [
    "GPS419",
    "is an address of this machine, where the controller would only reach itself",
    "give --server with an address that the host can reach",
  ],
} as const satisfies Catalogue;

const { problem } = messagesOf(catalogue);

/** The problem at this place. It contains no value and no key of the kubeconfig. */
export const problemAt = (kind: keyof typeof catalogue, source: string, path: Steps): Problem =>
  problem(kind, source, path.length === 0 ? "kubeconfig" : formatPath(path));
