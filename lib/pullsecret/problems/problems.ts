/**
 * The catalogue: everything that can be wrong with, or surprising in, a pull-secret document. A
 * line names the source, the key path, what is wrong and what to do. It never contains a value.
 */
import { messagesOf, type Catalogue, type Problem } from "#contract/catalogue.ts";

export type { Problem };

/**
 * Kind → code, problem, action. `{}` stands for a registry or a field name. Codes from 150 are
 * warnings.
 */
export const catalogue = {
  tooBig: ["GPS101", "longer than 1 MiB", "remove entries"],
  notUtf8: ["GPS102", "not UTF-8", "save it as UTF-8"],
  notJson: [
    "GPS103",
    "not JSON",
    "give one JSON object, without a byte order mark, comments or trailing commas",
  ],
  tooDeep: ["GPS104", "nested too deep", "remove the nesting: a pull secret needs 3 levels"],
  duplicate: ["GPS105", "the key occurs twice", "keep one"],
  forbiddenKey: ["GPS106", "a key that no registry or field can have", "remove it"],
  loneSurrogate: ["GPS107", "half a UTF-16 surrogate pair", "remove the \\ud800-\\udfff escape"],
  number: [
    "GPS108",
    "a number that cannot be stored exactly",
    "write it as a string, or remove it",
  ],
  notObject: ["GPS109", "not an object", 'give an object such as {"auth": "..."}'],
  noAuths: [
    "GPS110",
    "auths is missing",
    'give JSON such as {"auths": {"REGISTRY": {"auth": "..."}}}',
  ],
  tooMany: ["GPS111", "more than 1,000 registries", "remove entries"],
  letterCase: ["GPS112", "must be spelled {}", "use exactly that spelling"],
  notString: ["GPS113", "not a string", "give a string"],
  notStringMap: ["GPS114", "not an object of strings", "correct or remove it"],
  notBase64: [
    "GPS115",
    "not base64",
    "give base64 of user:password in the standard alphabet, without spaces",
  ],
  noColon: ["GPS116", "no colon in the decoded text", "give base64 of user:password"],
  notText: [
    "GPS117",
    "the decoded text is not UTF-8",
    "encode user:password as UTF-8 before base64",
  ],
  noUser: [
    "GPS118",
    "no user name",
    "give auth, or username and password: without a user a pull is anonymous",
  ],
  control: [
    "GPS119",
    "a control character in the {}",
    "remove it: encode with printf or echo -n, not echo",
  ],
  tokenOnly: [
    "GPS120",
    "only {}, which the kubelet does not read",
    "give auth, or username and password",
  ],
  emptyKey: ["GPS121", "the registry is empty", "name a registry, such as quay.io"],
  longKey: [
    "GPS122",
    "the registry is too long",
    "shorten it to 526 characters: no image name is longer",
  ],
  deadKey: [
    "GPS123",
    "no image name can match this registry",
    "write HOST[:PORT][/PATH] as image names have it",
  ],
  capitals: [
    "GPS124",
    "capitals in the host match only images with the same capitals",
    "write the host in lower case, in image names too",
  ],
  badPort: [
    "GPS125",
    "the port is not a number from 1 to 65535 as in image names",
    "correct or remove the port",
  ],
  sameRegistry: [
    "GPS126",
    "the same registry as {}, with another credential",
    "keep one of the two",
  ],
  protected: [
    "GPS127",
    "serves images of {}, which is protected",
    "remove it, or ask for the protection to be lifted",
  ],
  badProtect: [
    "GPS128",
    "not a registry that can be protected",
    "give a registry as in image names, such as quay.io",
  ],
  secretManifest: [
    "GPS130",
    "a Secret manifest, not a pull secret",
    "give the JSON of its .dockerconfigjson, decoded",
  ],
  colonInUser: [
    "GPS131",
    "a colon in the user name",
    "remove it: auth is split at its first colon",
  ],
  nothingLeft: [
    "GPS132",
    "has no credential for a node, and no other entry has one",
    "enter it with kubectl pull-secret add --password-stdin: a credential helper stores it elsewhere",
  ],
  base64: ["GPS133", "base64 of a document, not JSON", "decode it once more"],
  dockercfg: [
    "GPS134",
    "registries without auths around them, as in the old .dockercfg",
    'put {"auths": ...} around the document',
  ],
  otherManifest: [
    "GPS135",
    "a manifest, but not of a Secret",
    "give a pull secret's JSON, or apply the SealedSecret or ExternalSecret to the cluster",
  ],

  disagree: ["GPS151", "auth and {} disagree", "remove one: auth is used"],
  dropped: ["GPS152", "{} is dropped", "no action needed: only credentials are used"],
  stripped: ["GPS153", "merged without {}", "no action needed: kubelets use only auths"],
  emptyPassword: ["GPS154", "the password is empty", "check that this is intended"],
  whiteSpace: [
    "GPS155",
    "white space around the {}",
    "check that this is intended: echo without -n adds a line break",
  ],
  wildcard: [
    "GPS156",
    "a wildcard",
    "list the hosts if CRI-O or podman read the file: only the kubelet supports wildcards",
  ],
  readAs: ["GPS157", "is read as {}", "write it like that"],
  versionPath: [
    "GPS158",
    "is read as a repository path, not as the host",
    "end it with a slash to name the host",
  ],
  defaultPort: [
    "GPS159",
    "matches only images written with :{}",
    "remove the port if images are written without it",
  ],
  hubMirror: [
    "GPS160",
    "does not serve images of docker.io",
    "use https://index.docker.io/v1/ for Docker Hub",
  ],
  twice: ["GPS161", "the same registry and credential as {}", "keep one of the two"],
  hidden: [
    "GPS162",
    "is never tried: {} matches all its images first",
    "write docker.io instead, or remove the other",
  ],
  kept: ["GPS163", "kept, but {}", "correct it in the original"],
  conflict: ["GPS164", "differs from the credential in {}", "no action needed if intended: {}"],
  shadow: [
    "GPS165",
    "is tried before {} of {}",
    "no action needed if intended: images that match both use this entry from now on",
  ],
  marker: [
    "GPS166",
    "has no credential, and is left out",
    "no action needed, or add what a helper stores with kubectl pull-secret add --password-stdin",
  ],
  hubToken: [
    "GPS167",
    "is docker login's own token, and is left out",
    "no action needed: pulls use the entry https://index.docker.io/v1/ beside it",
  ],
  tokenBesideEmpty: [
    "GPS168",
    "{} is dropped, and the password is empty",
    "give a password: the kubelet uses no tokens",
  ],
  leftOut: ["GPS169", "left out: {}", "correct it if images need it"],
  placeholder: [
    "GPS170",
    "looks like a placeholder that no tool has replaced",
    "check the tool that writes the Secret",
  ],
  pagePath: [
    "GPS171",
    "contains the path of a web page or an API, which no image name has",
    "write the host, or the path as in image names",
  ],
  promoted: [
    "GPS172",
    "is also written as docker.io, before {} of {}",
    "no action needed if intended: images that match both use this entry from now on",
  ],
  fewImages: [
    "GPS173",
    "serves only images written with the same capitals or zeros",
    "write the host in lower case and the port without leading zeros, in image names too",
  ],
  noRegistries: [
    "GPS174",
    "no registries: nodes lose the entries that only this source supplied",
    "add its registries, unless you want to withdraw it",
  ],
  expires: ["GPS175", "the credential itself states that it ends at {}", "replace it before then"],
  expired: [
    "GPS178",
    "the credential itself states that it ended at {}",
    "replace it: pulls fail, even of public images of this registry",
  ],
  helper: [
    "GPS179",
    "names credential helpers, and is taken out",
    "enter what they store with kubectl pull-secret add --password-stdin",
  ],
  unjudged: ["GPS176", "not judged here: {}", "check that the original has the same credential"],
  elsewhere: [
    "GPS180",
    "is not {}, which the controller reads",
    "change it, unless spec.sources names this Secret of kube-system",
  ],
  unprotected: [
    "GPS177",
    "is not protected by {}: * matches within one part of a name, and a port must be the same",
    "protect {} too if that registry needs protection",
  ],
} as const satisfies Catalogue;

export type ProblemKind = keyof typeof catalogue;

export const { problem } = messagesOf(catalogue);

/** One line for people: `SOURCE: KEYPATH: problem; action`. */
export function formatProblem({ source, path, what, todo }: Problem): string {
  return `${source}: ${path}: ${what}; ${todo}`;
}

/**
 * The warning that an entry is left out because of a mistake. In other cases, the same mistake
 * refuses the whole source.
 */
export function leftOut(refused: Problem): Problem {
  return problem("leftOut", refused.source, refused.path, refused.what);
}

/**
 * The warning that an original keeps an entry for which an additional source would be refused. The
 * kubelet skips only this entry.
 */
export function keptAnyway(refused: Problem): Problem {
  return problem("kept", refused.source, refused.path, refused.what);
}
