/** The environment of tests, which get only the variables in these lists. Pure functions. */

/** These variables change which tests run, or how they run. The run prints those that are set. */
const choices = ["SEED", "EVERY_POINT", "PATIENCE", "SOAK_MINUTES", "DIFFERENTIAL_FILES"] as const;

/**
 * Programs need these variables to find their files, the network, and the packages that they build
 * from.
 */
const needed: readonly RegExp[] = [
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|TERM|CI|TMPDIR|XDG_\w+)$/,
  /^(?:all|https?|no)_proxy$/i,
  // Node, Go and curl read a proxy's certificates from the files that these variables name.
  /^(?:SSL_CERT_(?:FILE|DIR)|NODE_EXTRA_CA_CERTS|CURL_CA_BUNDLE|GIT_SSL_CAINFO)$/,
  /^GO(?:PATH|ROOT|CACHE|MODCACHE|TOOLCHAIN|PROXY|PRIVATE|NOPROXY|SUMDB|NOSUMDB|INSECURE|AUTH)$/,
  /^npm_config_/i,
  /^KUBEBUILDER_ASSETS$/,
];

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The longest TMPDIR that leaves room for the longest path of a socket. Linux allows 107 bytes, and
 * the agent's lock in a node's folder needs 69 of them.
 */
const longest = 38;

/** The part of an environment that tests get. Tests use /tmp if they get no TMPDIR. */
export function forTests(outer: Environment): Record<string, string> {
  const isPassed = (name: string, value: string): boolean =>
    choices.some((one) => one === name) ||
    (needed.some((one) => one.test(name)) && !(name === "TMPDIR" && value.length > longest));
  return Object.fromEntries(
    Object.entries(outer).flatMap(([name, value]) =>
      value !== undefined && isPassed(name, value) ? [[name, value]] : [],
    ),
  );
}

/** The set variables of `choices`, such as `SEED=7 PATIENCE=2`; empty if none is set. */
export const choicesIn = (outer: Environment): string =>
  choices.flatMap((name) => (outer[name] ? [`${name}=${outer[name]}`] : [])).join(" ");
