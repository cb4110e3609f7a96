/**
 * Judges pull secrets by the controller's rules. Returns the entries, or the reasons why the
 * controller would refuse them.
 */
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import { helpOf } from "#contract/help.ts";
import { additionalSecretName, namespace as kubeSystem, sourceIds } from "#contract/names.ts";
import { expiryOf } from "#pullsecret/document/expiry.ts";
import type { Entry } from "#pullsecret/document/parse.ts";
import { judgeSecret, type SecretParts } from "#pullsecret/document/secret.ts";
import { joinSources } from "#pullsecret/merge/join.ts";
import { findProtected } from "#pullsecret/merge/protect.ts";
import { formatPath } from "#pullsecret/problems/keypath.ts";
import { formatProblem, problem, type Problem } from "#pullsecret/problems/problems.ts";
import { Refused } from "../terminal/io.ts";
import type { FileSecret } from "./manifests.ts";

export type Examined = Readonly<{
  /** Empty if there are problems. */
  entries: readonly Entry[];
  problems: readonly Problem[];
  warnings: readonly Problem[];
}>;

/** The registries that only the original is allowed to serve. */
export type Protection = Readonly<{
  protect: readonly string[];
  /**
   * Whether there is an original. The controller accepts an entry for a protected registry if the
   * original has the same entry.
   */
  hasOriginal: boolean;
}>;

/** The registries that the object protects. Without an object, no registry is protected. */
export function protectionOf(object: GlobalPullSecret | undefined): Protection {
  const hasOriginal = object?.status?.sources?.some(({ name }) => name === sourceIds.original);
  return { protect: object?.spec?.protectedRegistries ?? [], hasOriginal: hasOriginal ?? false };
}

/**
 * Finds all problems that the controller would find in this Secret of an additional source. If
 * there is an original, an entry for a protected registry is only a warning: we do not read the
 * original here, and it might contain the same entry.
 */
function examine(
  secret: SecretParts,
  { protect, hasOriginal }: Protection,
  name: string = role,
): Examined {
  const judged = judgeSecret(secret, { name, role });
  const { warnings } = judged;
  if (!judged.ok) return { entries: [], problems: judged.problems, warnings };
  const { entries } = judged;
  const policy = { conflicts: role, protect: hasOriginal ? [] : protect } as const;
  const sources = [{ id: name, accepted: judged }];
  const joined = joinSources(sources, secret.document?.length ?? 0, policy);
  if (!joined.ok) return { entries: [], problems: joined.problems, warnings };
  const offered = entries.map(({ registry }) => ({ id: name, registry }));
  const unjudged = (hasOriginal ? findProtected(offered, protect) : []).map(
    ({ source, path, what }) => problem("unjudged", source, path, what),
  );
  return { entries, problems: [], warnings: [...joined.merged.warnings, ...unjudged] };
}

const role = "additional";

/**
 * Examines a whole Secret. Also refuses expired credentials: the controller only warns of them,
 * because a credential can expire after it was accepted. `expectedName`: the Secret in kube-system
 * that the source reads. Another place is only a warning.
 */
export function examineWhole(
  secret: FileSecret,
  protection: Protection = protectionOf(undefined),
  expectedName?: string,
): Examined {
  const { label } = secret;
  const examined = examine(secret, protection, label);
  if (examined.problems.length > 0) return examined;
  const isEmpty = examined.entries.length === 0;
  const { expired, expires } = expiriesIn(label, examined);
  return {
    ...examined,
    problems: expired,
    warnings: [
      ...examined.warnings,
      ...(isEmpty ? [problem("noRegistries", label, "auths")] : []),
      ...expires,
      ...[misplaced(secret, expectedName) ?? []].flat(),
    ],
  };
}

/** One note for each credential that contains its expiry time. */
function expiriesIn(name: string, { entries }: Examined) {
  const notes = { expired: [] as Problem[], expires: [] as Problem[] };
  for (const { registry, credential } of entries) {
    const end = expiryOf(credential);
    if (end === undefined) continue;
    const kind = end.getTime() <= Date.now() ? "expired" : "expires";
    notes[kind].push(problem(kind, name, formatPath(["auths", registry]), end.toISOString()));
  }
  return notes;
}

/**
 * A warning if the manifest names another Secret than the one of the source in kube-system.
 * Undefined if it does not, or for a bare document.
 */
export function misplaced(
  secret: FileSecret,
  expectedName: string = additionalSecretName,
): Problem | undefined {
  const { namespace = kubeSystem, name = expectedName, label } = secret;
  return namespace === kubeSystem && name === expectedName
    ? undefined
    : problem("elsewhere", label, "metadata", `${kubeSystem}/${expectedName}`);
}

type Good = Readonly<{
  entries: readonly Entry[];
  /** One line for each warning. */
  warnings: readonly string[];
}>;

/**
 * The result of `examine`, and a warning of each expired credential. Throws Refused with every
 * reason if the controller would not accept the Secret.
 */
export function verdictOn(secret: SecretParts, protection: Protection, name?: string): Good {
  const examined = examine(secret, protection, name);
  const { entries, problems, warnings } = examined;
  if (problems.length > 0) throw refusedFor(problems);
  const { expired } = expiriesIn(name ?? role, examined);
  return { entries, warnings: [...warnings, ...expired].map(codedLine) };
}

/** The error with a line for each problem. */
export const refusedFor = (problems: readonly Problem[]): Refused =>
  new Refused(problems.map(codedLine).join("\n"));

/** A line with the command that explains the codes of these problems. */
export const explainedBy = (problems: readonly Problem[]): string =>
  `explained by ${helpOf([...new Set(problems.map(({ code }) => code))].join(" "))}`;

/**
 * One line for people. It begins with the problem's code, which errors.md explains.
 */
export const codedLine = (issue: Problem): string => `${issue.code} ${formatProblem(issue)}`;
