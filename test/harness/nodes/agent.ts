/**
 * The agent in the model: it follows the Secret and its node's order, restarts its node's kubelet,
 * and reports. The rules are those of the real agent, in the same order.
 */
import { catalogue } from "#contract/agent-codes.ts";
import { type Intent, type PublishedMode, secretKeys, servedKeys } from "#contract/names.ts";
import type { Order, Report, Result } from "#contract/order.ts";
import { digestOf } from "#pullsecret/merge/digest.ts";
import {
  type Agent,
  type Behaviour,
  type Content,
  isRunning,
  type ModelNode,
  type Texts,
} from "./nodes.ts";

const emptyDocument = '{"auths":{}}';

/** True while the node has an order that its agent has not answered. */
export const isAtWork = (node: ModelNode): boolean =>
  isRunning(node) &&
  node.pods.some(({ deletedAt }) => deletedAt === undefined) &&
  !isAnswered(node);

const isAnswered = ({ order, report }: ModelNode): boolean =>
  order === undefined || order.attempt === report?.attempt;

export const agent: Agent = (node, { behaviour, secret, now, began }) => {
  if (behaviour === "hangs") return;
  const report = (result: Result, about: Order, text: string): void => {
    const [code = "", ...words] = text.split(" ");
    const { revision, digest, attempt } = about;
    const content = { revision, digest, attempt, mode: secret[secretKeys.mode] as PublishedMode };
    const next = { ...content, result, code, message: words.join(" ") };
    node.report = reportOf(node.report, next, now);
  };
  if (node.journal?.begun !== undefined && !endChange(node, report)) return;
  const newest = contentIn(secret, secretKeys);
  if (newest?.intent === "release") {
    if (node.journal?.released !== true || node.journal.revision !== newest.revision)
      began(newest.revision);
    node.applied = undefined;
    node.journal = journalOf(newest);
    const { revision, digest } = newest;
    const attempt = node.order?.attempt ?? 0;
    report("Removed", { revision, digest, attempt }, `${catalogue.withdrawn[0]} withdrawn`);
    return;
  }
  if (newest !== undefined) removeKeys(node, newest);
  const ordered = isAnswered(node) ? undefined : contentFor(node.order, secret);
  if (ordered !== undefined) {
    began(ordered.revision);
    obey(node, ordered, behaviour, report);
  } else if (node.journal === undefined) {
    const served = servedIn(secret);
    if (served !== undefined) begin(node, { ...served, attempt: 0 });
  } else node.applied = node.journal.document;
};

/** A content, and the attempt of the order that asks for it; 0: nobody asked. */
type Ordered = Content & Readonly<{ attempt: number }>;
type Reporter = (result: Result, about: Order, text: string) => void;

/**
 * Ends the change that has begun. Returns false if the change goes on, because another program
 * replaced the file and the kubelet did not read it.
 */
function endChange(node: ModelNode, report: Reporter): boolean {
  const { begun, ...former } = node.journal ?? { revision: 0, digest: "", document: undefined };
  if (begun === undefined) return true;
  if (node.kubelet === "down") {
    node.kubelet = "up";
    node.applied = former.document;
    node.journal = former;
    report("Failed", begun, `${catalogue.rolledBack[0]} the kubelet did not come back`);
    return true;
  }
  if (node.applied !== begun.document) {
    begin(node, begun);
    return false;
  }
  node.journal = journalOf(begun);
  report("Proved", begun, `${catalogue.inForce[0]} the revision is in force`);
  return true;
}

/** The content that the order names. Undefined while it is not published. */
function contentFor(order: Order | undefined, secret: Texts): Ordered | undefined {
  const content = [contentIn(secret, secretKeys), contentIn(secret, servedKeys)].find(
    (slot) => slot?.revision === order?.revision && slot?.digest === order?.digest,
  );
  return content && order && { ...content, attempt: order.attempt };
}

function obey(node: ModelNode, content: Ordered, behaviour: Behaviour, report: Reporter): void {
  if (behaviour === "refuses") report("Refused", content, "GPS206 config.json is a symbolic link");
  else if (behaviour !== "ready" && behaviour !== "breaks" && behaviour !== "crashes")
    report("Failed", content, behaviour);
  else if (node.applied === content.document) {
    node.journal = journalOf(content);
    report("Proved", content, `${catalogue.inForce[0]} the revision is in force`);
  } else begin(node, content);
}

/** Puts the content in place, and restarts the kubelet. */
function begin(node: ModelNode, content: Ordered): void {
  const former = node.journal ?? { revision: 0, digest: "", document: undefined };
  node.journal = { ...former, begun: content };
  node.applied = content.document;
  node.restarts.push(content.document ?? emptyDocument);
  node.kubelet = "restarting";
}

/** Removes our registries that the newest content does not have, without a restart. */
function removeKeys(node: ModelNode, { document: newest = emptyDocument }: Content): void {
  const { journal } = node;
  if (journal?.document === undefined) return;
  const keep = authsOf(newest);
  const auths = Object.entries(authsOf(journal.document));
  const kept = auths.filter(([registry]) => registry in keep);
  if (kept.length === auths.length) return;
  const document = JSON.stringify({ auths: Object.fromEntries(kept) });
  node.applied = document === emptyDocument ? undefined : document;
  node.journal = { ...journal, document: node.applied };
}

const authsOf = (document: string): Readonly<Record<string, unknown>> =>
  (JSON.parse(document) as { auths: Record<string, unknown> }).auths;

const journalOf = ({ revision, digest, document, intent }: Content) => ({
  revision,
  digest,
  document,
  released: intent === "release",
});

/** The next report. `since` stays while result, code and content are the same. */
function reportOf(
  last: Report | undefined,
  next: Omit<Report, "version" | "since" | "time">,
  now: number,
): Report {
  const isSame =
    last?.result === next.result &&
    last.code === next.code &&
    last.revision === next.revision &&
    last.digest === next.digest;
  if (isSame && last.attempt === next.attempt) return last;
  const time = Math.floor(now);
  return { ...next, version: "simulated", since: isSame ? last.since : time, time };
}

/** The content that new nodes take. */
function servedIn(secret: Texts): Content | undefined {
  const served = secret[servedKeys.revision];
  if (served === undefined || served === "0") return undefined;
  return contentIn(secret, served === secret[secretKeys.revision] ? secretKeys : servedKeys);
}

function contentIn(
  secret: Texts,
  keys: typeof servedKeys | typeof secretKeys,
): Content | undefined {
  const text = (key: string): string => secret[key] ?? "";
  const revision = Number(text(keys.revision));
  const document = text(keys.document);
  if (!(revision > 0) || document === "") return undefined;
  const digest = digestOf({
    salt: Buffer.from(text(keys.salt), "latin1"),
    intent: text(keys.intent) as Intent,
    sources: Buffer.from(text(keys.sources)),
    document: Buffer.from(document),
  });
  const isEmpty = document === emptyDocument;
  return { revision, digest, intent: text(keys.intent), document: isEmpty ? undefined : document };
}
