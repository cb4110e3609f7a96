/** Everything that can be wrong with a kubeconfig that is read as data, each with its code. */
import { entryOf, type Catalogue } from "#contract/catalogue.ts";
import { formatPath, type Steps } from "#pullsecret/problems/keypath.ts";
import type { Problem } from "#pullsecret/problems/problems.ts";

/**
 * Kind → code, what is wrong, what to do. Each of them refuses the kubeconfig as a whole; the last
 * one a join does.
 */
export const catalogue = {
  tooBig: ["GPS401", "longer than 256 KiB", "give the kubeconfig of one cluster"],
  notYaml: ["GPS402", "not one YAML document", "give the kubeconfig as kubectl writes it"],
  notObject: ["GPS403", "not an object", "give the kubeconfig as kubectl writes it"],
  missing: ["GPS404", "there is no such entry", "name one that is there, once"],
  server: [
    "GPS405",
    "is no https URL without user, query and fragment",
    "give one such as https://api.example.com:6443",
  ],
  authority: [
    "GPS406",
    "is missing, or no base64 of PEM certificates",
    "give the API server's authority, or ask for the system's roots (docs/extend/hosted.md)",
  ],
  serverName: ["GPS407", "is no host name", "give the name in the API server's certificate"],
  exec: ["GPS408", "would run a program", "give a token, or a client certificate and its key"],
  authProvider: [
    "GPS409",
    "would ask another service",
    "give a token, or a client certificate and its key",
  ],
  file: ["GPS410", "names a file of this machine", "give its content in the field with -data"],
  insecure: ["GPS411", "would trust any server", "remove it, and give certificate-authority-data"],
  proxy: ["GPS412", "would lead through a proxy", "remove it: the server must be reached directly"],
  impersonation: ["GPS413", "would act as another user", "give that user's own credential"],
  password: [
    "GPS414",
    "is not served by any API server of today",
    "give a token, or a client certificate and its key",
  ],
  noCredential: [
    "GPS415",
    "has no credential",
    "give a token, or a client certificate and its key",
  ],
  token: ["GPS416", "is no token", "give it in one line, without spaces"],
  certificate: [
    "GPS417",
    "is no certificate with its unencrypted key",
    "give both, base64 of PEM, as they belong together",
  ],
  unknownField: [
    "GPS418",
    "has a field that is not known here",
    "remove what is not needed to connect",
  ],
  loopback: [
    "GPS419",
    "is an address of this machine, from which the controller reaches only itself",
    "give --server with one that the host reaches",
  ],
} as const satisfies Catalogue;

/** The problem of a kind at a place. It holds neither a value nor a key of the kubeconfig. */
export function problemAt(kind: keyof typeof catalogue, source: string, path: Steps): Problem {
  const { code, what, todo } = entryOf(catalogue, kind);
  return { code, source, path: path.length === 0 ? "kubeconfig" : formatPath(path), what, todo };
}
