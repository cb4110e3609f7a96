/** Recognises tokens that stand where a name should be, so that no token is printed. */

/** The text shown instead of a secret. */
export const redacted = "[redacted]";

/**
 * Prefixes by which issuers mark their tokens: GitHub, GitLab, Docker Hub, DigitalOcean, AWS,
 * Google, Azure, npm, PyPI, Slack, Vault, JFrog, and the JWTs of Quay and others.
 */
const marked =
  /(?<![A-Za-z0-9])(?:gh[opusr]_|github_pat_|gl(?:pat|dt|rtr?|cbt|ptt|ft|soat|agent|oas|imt|ffct)-|dckr_[a-z]{2,8}_|do[opr]_v1_|A[KS]IA(?=[A-Z0-9]{8})|AIza|ya29\.|npm_(?=[A-Za-z0-9]{20})|pypi-(?=AgE)|xox[a-z]-|hv[bsr]\.(?=[A-Za-z0-9_-]{20})|AKCp|cmVmdGtu|eyJ|figd_|lin_api_|shpat_|rk_live_|sk_live_|nvapi-)[A-Za-z0-9_.+/=-]{6,}/g;

/**
 * Longest run of letters and digits in an ordinary name. For a run that is made of words, the limit
 * is `longestWords`.
 */
const longestWord = 15;
const longestWords = 32;
const part = /[a-z]+|[A-Z]+[a-z]*|[0-9]+/g;
/**
 * The words of an ordinary run have at least this length on average. Keys and hashes have shorter
 * parts, because they change between letters, capitals and digits more often.
 */
const shortWord = 4;
/**
 * We do not search a user name for a shorter password, because a shorter password is easy to guess
 * anyway.
 */
const shortest = 4;

/** The text with every recognised token replaced. */
export function redactTokens(text: string): string {
  return text.replace(marked, redacted);
}

/**
 * Whether a user name looks like a token: it has an issuer's prefix, or a run of letters and digits
 * as in keys and hashes.
 */
function looksLikeToken(name: string): boolean {
  if (redactTokens(name) !== name) return true;
  return name
    .split(/[^A-Za-z0-9]+/)
    .some(
      (run) =>
        run.length > longestWords ||
        (run.length > longestWord && run.length / (run.match(part)?.length ?? 1) < shortWord),
    );
}

/** The user name to show to people; `[redacted]` if it might contain a credential. */
export function shownUser(username: string, password: string): string {
  if (username === "") return "";
  const secret = password.trim();
  const holdsPassword = secret.length >= shortest && username.includes(secret);
  return secret === "" || holdsPassword || looksLikeToken(username) ? redacted : username;
}
