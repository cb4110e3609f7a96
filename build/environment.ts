/** The environment of tests: only variables that this list names reach them. Pure. */

/** Each changes which tests run, or how: a run that has one prints it. */
const choices = ["SEED", "EVERY_POINT", "PATIENCE", "SOAK_MINUTES", "DIFFERENTIAL_FILES"] as const;

/** What programs need to find their files, the network and the packages that they build from. */
const needed: readonly RegExp[] = [
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|TERM|CI|TMPDIR|XDG_\w+)$/,
  /^(?:all|https?|no)_proxy$/i,
  // Certificates of a proxy, for Node, Go and curl.
  /^(?:SSL_CERT_(?:FILE|DIR)|NODE_EXTRA_CA_CERTS|CURL_CA_BUNDLE|GIT_SSL_CAINFO)$/,
  /^GO(?:PATH|ROOT|CACHE|MODCACHE|TOOLCHAIN|PROXY|PRIVATE|NOPROXY|SUMDB|NOSUMDB|INSECURE|AUTH)$/,
  /^npm_config_/i,
  /^KUBEBUILDER_ASSETS$/,
];

type Environment = Readonly<Record<string, string | undefined>>;

/** What tests get of an environment. */
export function forTests(outer: Environment): Record<string, string> {
  const isChoice = (name: string): boolean => choices.some((one) => one === name);
  return Object.fromEntries(
    Object.entries(outer).flatMap(([name, value]) =>
      value !== undefined && (isChoice(name) || needed.some((one) => one.test(name)))
        ? [[name, value]]
        : [],
    ),
  );
}

/** `SEED=7 PATIENCE=2`: the choices that an environment makes; empty if it makes none. */
export const choicesIn = (outer: Environment): string =>
  choices.flatMap((name) => (outer[name] ? [`${name}=${outer[name]}`] : [])).join(" ");
