/** Tokens that stand where a name should: what they look like, so that none of them is shown. */

/** What is shown instead of a secret. */
export const redacted = "[redacted]";

/**
 * Beginnings of tokens, with which their issuers mark them: GitHub, GitLab, Docker Hub,
 * DigitalOcean, AWS, Google, Azure, npm, PyPI, Slack, Vault, JFrog, Quay's and others' JWTs.
 */
const marked =
  /(?<![A-Za-z0-9])(?:gh[opusr]_|github_pat_|gl(?:pat|dt|rtr?|cbt|ptt|ft|soat|agent|oas|imt|ffct)-|dckr_[a-z]{2,8}_|do[opr]_v1_|A[KS]IA(?=[A-Z0-9]{8})|AIza|ya29\.|npm_(?=[A-Za-z0-9]{20})|pypi-(?=AgE)|xox[a-z]-|hv[bsr]\.(?=[A-Za-z0-9_-]{20})|AKCp|cmVmdGtu|eyJ|figd_|lin_api_|shpat_|rk_live_|sk_live_|nvapi-)[A-Za-z0-9_.+/=-]{6,}/g;

/** A run of letters and digits in a name is no longer, or a few words: `oauth2accesstoken`. */
const longestWord = 15;
const longestWords = 32;
const part = /[a-z]+|[A-Z]+[a-z]*|[0-9]+/g;
/** Characters of a word on average; those of a key or a hash change their kind more often. */
const shortWord = 4;
/** Shorter passwords are guessed, not read. */
const shortest = 4;

/** A text with every token that is marked as one replaced. What is around it stays. */
export function redactTokens(text: string): string {
  return text.replace(marked, redacted);
}

/**
 * Whether a user name looks like a token: marked as one, or with a run of letters and digits such
 * as keys and hashes are.
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

/** A user name for people's eyes; not one that is a credential by itself. */
export function shownUser(username: string, password: string): string {
  if (username === "") return "";
  const secret = password.trim();
  const holdsPassword = secret.length >= shortest && username.includes(secret);
  return secret === "" || holdsPassword || looksLikeToken(username) ? redacted : username;
}
