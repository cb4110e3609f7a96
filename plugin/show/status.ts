/**
 * Shows the GlobalPullSecret as lines for people: the credentials in force, their sources, and the
 * nodes that need help.
 */
import type { GlobalPullSecret, NodesStatus } from "#api/global-pull-secret.ts";
import { age, span, columns } from "../terminal/output.ts";
import type { Paint } from "../terminal/paint.ts";
import { conditionOf } from "#kube/conditions.ts";
import { catalogue as ofAgents } from "#contract/agent-codes.ts";
import { catalogue as ofNodes } from "#contract/node-codes.ts";
import type { ConditionType } from "#api/reasons.ts";

/** `now`: the time from which ages are computed. */
type Screen = Readonly<{ paint: Paint; now: number }>;

export function statusLines(object: GlobalPullSecret, screen: Screen): string[] {
  return [
    headline(object, screen.paint),
    ...revisionLines(object, screen),
    ...deliveryLines(object),
    ...nodeLines(object, screen),
    ...failureLines(object, screen),
    ...sourceLines(object),
    // Last, because there can be 200 of them.
    ...registryLines(object, screen),
  ];
}

/** The object's state in one line. If several conditions are True, the worst one counts. */
function headline(object: GlobalPullSecret, paint: Paint): string {
  const { spec, status, metadata } = object;
  const { managementState: state = "Managed" } = spec ?? {};
  const detail = conditionOf(object.status, "Ready")?.message ?? "";
  if (status?.conditions === undefined)
    return paint.doubt("Unknown: the controller has not reported yet; check that it runs");
  if (!isObserved(object)) {
    const word = state === "Managed" ? "Reconciling" : state;
    return paint.doubt(`${word}: generation ${metadata.generation} of spec is not read yet`);
  }
  // Messages in these states begin with the state's name, which we have already printed.
  if (state !== "Managed" && detail.startsWith(state.toLowerCase()))
    return paint.doubt(`${state}${detail.slice(state.length)}`);
  const prefix = state === "Managed" ? "" : `${state}, `;
  if (isTrue(object, "Stalled")) return paint.bad(`${prefix}Stalled: ${detail}`);
  if (isTrue(object, "Reconciling")) return paint.doubt(`${prefix}Reconciling: ${detail}`);
  if (isTrue(object, "Ready")) return paint.good(`${prefix}Ready: ${detail}`);
  return paint.bad(`${prefix}Not ready: ${detail}`);
}

/** How long ago a time was. A text that is not a time stays unchanged. */
const ago = (at: string, now: number): string => {
  const shown = age(at, now);
  return shown === "" ? at : `${shown} ago`;
};

function revisionLines({ status }: GlobalPullSecret, { paint, now }: Screen): string[] {
  const { inForce, pending, refused } = status?.revision ?? {};
  const parts = [
    inForce === undefined ? "none in force" : `${inForce} in force`,
    ...(pending === undefined ? [] : [`${pending} is being rolled out`]),
  ];
  const halted =
    refused === undefined
      ? []
      : [
          paint.bad(
            `          ${refused.revision} halted (${refused.reason}) ${ago(refused.since, now)}`,
          ),
          "          to try again now: kubectl pull-secret retry",
        ];
  return [`Revision  ${parts.join(", ")}`, ...halted];
}

function nodeLines(object: GlobalPullSecret, { paint }: Screen): string[] {
  const nodes = object.status?.nodes;
  if (nodes === undefined) return [];
  const counts = [`${nodes.summary} with the present revision`, waitingText(nodes)];
  const condition = conditionOf(object.status, "NodesLeftOut");
  return [
    `Nodes     ${counts.filter(Boolean).join("; ")}`,
    ...(condition?.status === "True"
      ? [paint.doubt(`          left out: ${condition.message}`)]
      : []),
  ];
}

/** `waiting: 2 AtWork, 1 NoPlace`, or empty if no node waits. */
export function waitingText({ waiting = [] }: NodesStatus): string {
  if (waiting.length === 0) return "";
  const texts = waiting.map(({ reason, nodes }) => `${nodes} ${reason}`);
  return `waiting: ${texts.join(", ")}`;
}

function sourceLines({ status }: GlobalPullSecret): string[] {
  const sources = status?.sources ?? [];
  if (sources.length === 0) return [];
  const rows = sources.map(({ name, accepted, message, reason, ...versions }) => [
    name,
    words[reason] ?? words[accepted] ?? "unknown",
    accepted === "True" ? progress(versions) : message,
  ]);
  return ["Sources", ...columns(rows)];
}

/**
 * Words for the state of a source, by the controller's reason or, if the reason is not in this
 * list, by `accepted`.
 */
const words: Readonly<Record<string, string>> = {
  True: "accepted",
  False: "refused",
  Missing: "missing",
  WithdrawalAwaited: "deleted",
  Verifying: "being verified",
};

type Versions = Readonly<{ resourceVersion?: string; servedResourceVersion?: string }>;

const progress = ({ resourceVersion, servedResourceVersion }: Versions): string =>
  resourceVersion === servedResourceVersion ? "on the nodes" : "not on every node yet";

/** When a credential expires. Red if it has expired or expires within the hour. */
function ending(expires: string, now: number, paint: Paint): string {
  const seconds = Math.floor((Date.parse(expires) - now) / 1000);
  if (seconds <= 0) return paint.bad(`expired ${ago(expires, now)}`);
  const text = `expires in ${span(seconds)}`;
  return seconds < 3600 ? paint.bad(text) : text;
}

function registryLines({ status }: GlobalPullSecret, { paint, now }: Screen): string[] {
  const registries = status?.registries ?? [];
  if (registries.length === 0) return [];
  const rows = registries.map(({ registry, source, shadows = [], expires, verified }) => [
    registry,
    source,
    [
      ...(verified === "Denied" ? [paint.bad("denied by the registry")] : []),
      ...(shadows.length === 0 ? [] : [`before ${shadows.join(", ")}`]),
      ...(expires === undefined ? [] : [ending(expires, now, paint)]),
    ].join(", "),
  ]);
  const omitted = status?.registriesOmitted ?? 0;
  const more = omitted > 0 ? [`  and ${omitted} more`] : [];
  const verified = conditionOf(status, "CredentialsVerified");
  const denied = verified?.status === "False" ? [paint.bad(`  ${verified.message}`)] : [];
  return ["Registries", ...columns(rows), ...more, ...denied];
}

function failureLines({ status }: GlobalPullSecret, { paint, now }: Screen): string[] {
  const failures = status?.failures ?? [];
  if (failures.length === 0) return [];
  const lines = failures.flatMap(({ node, code = "", message, since }) => {
    const { next } = adviceOn(code) ?? {};
    const first = `  ${paint.bad(node)}  ${message} (${ago(since, now)})`;
    // An agent's message can already contain the next step.
    return next === undefined || message.includes(next) ? [first] : [first, `    ${next}`];
  });
  const { failed = 0, silent = 0, unfit = 0, unreachable = 0 } = status?.nodes ?? {};
  const all = Math.max(failures.length, failed + silent + unfit + unreachable);
  const more = all > failures.length ? [`  and ${all - failures.length} more`] : [];
  return ["Nodes that need help", ...lines, ...more];
}

type Advice = Readonly<{ what: string; next: string }>;
/** The entry of a code in the catalogues. Undefined if this version does not have the code. */
export function adviceOn(code: string): Advice | undefined {
  const row = [...Object.values(ofAgents), ...Object.values(ofNodes)].find(
    ([rowCode]) => rowCode === code,
  );
  return row && { what: row[1], next: row[2] };
}

export function isTrue({ status }: GlobalPullSecret, type: ConditionType): boolean {
  return conditionOf(status, type)?.status === "True";
}

/** Whether the status describes the current spec. */
export function isObserved({ metadata, status }: GlobalPullSecret): boolean {
  return (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
}

/** A line for a delivery mode other than the default. */
function deliveryLines({ spec }: GlobalPullSecret): string[] {
  const { mode, credentialProvider } = spec?.delivery ?? {};
  if (mode === undefined || mode === "Restart") return [];
  const { scope } = credentialProvider ?? {};
  return [`Delivery  ${mode}${scope === undefined ? "" : ` (${scope})`}`];
}

/**
 * Whether only pods of annotated ServiceAccounts get credentials from sources other than the
 * original.
 */
export function isScoped({ spec }: GlobalPullSecret): boolean {
  const { mode, credentialProvider } = spec?.delivery ?? {};
  return mode === "CredentialProvider" && credentialProvider?.scope === "Annotated";
}
