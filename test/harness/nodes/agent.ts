/**
 * The agent in the model: it applies the granted revision from the mounted Secret, and restarts its
 * node's kubelet. If it has neither a grant nor a journal, it takes the served content.
 */
import { catalogue } from "#contract/agent-codes.ts";
import { grantOf, keyOf, type Grant } from "#contract/grant.ts";
import { exitCodes, type Intent, secretKeys, servedKeys } from "#contract/names.ts";
import { messageOf, parseMessage, type MessageKind } from "#contract/termination-message.ts";
import { digestOf } from "#pullsecret/merge/digest.ts";
import type {
  Agent,
  Answer,
  Content,
  Journal,
  ModelNode,
  ModelPod,
  PodState,
  Texts,
} from "./nodes.ts";

const emptyDocument = '{"auths":{}}';

const lines: Readonly<Record<Exclude<MessageKind, "failed">, string>> = {
  proved: `${catalogue.inForce[0]} the revision is in force`,
  unfit: "GPS206 config.json is a symbolic link",
  behind: "the node has a higher revision",
  released: `${catalogue.withdrawn[0]} withdrawn`,
};

/** The revision that a pod is granted; 0: none. */
export const revisionOf = ({ annotations }: Pick<ModelPod, "annotations">): number =>
  grantOf(annotations)?.revision ?? 0;

/**
 * True while the pod has a grant that its node has not fulfilled. If the pod's `reported` state
 * shows that the agent has failed or refused the grant, the grant is dead, even if the controller
 * has not revoked it yet.
 */
export function isAtWork(
  { journal }: ModelNode,
  { ending, mounted }: ModelPod,
  reported: PodState | undefined,
): boolean {
  const grant = grantOf(mounted?.annotations);
  if (ending || grant === undefined || grant.revision === 0 || has(journal, grant)) return false;
  if (journal?.begun !== undefined) return true;
  const message = parseMessage(reported?.container.last?.message);
  if (message === undefined || message.kind === "proved" || message.kind === "released")
    return true;
  return keyOf(message.grant) !== keyOf(grant);
}

export const agent: Agent = (node, pod, { behaviour, mounted, now, began }) => {
  const grant = grantOf(mounted.annotations);
  const key = grant === undefined ? "" : keyOf(grant);
  const ends = (kind: MessageKind, exitCode: number, line: string, about = key): Answer => {
    const message = messageOf(line, { kind, key: about, journal: node.journal?.revision ?? 0 });
    return pod.state.container.last?.message === message
      ? answerAfter(kind)
      : { exitCode, message };
  };
  if (node.kubelet === "down") {
    // A pod without a grant reports the failure of its predecessor's grant.
    const { begun } = node.journal ?? {};
    const failed = key || (begun ? keyOf({ ...begun, since: "before" }) : "");
    rollBack(node, failed);
    return ends("failed", exitCodes.gaveUp, `${catalogue.rolledBack[0]} it died`, failed);
  }
  finish(node);
  if (pod.seen.key !== key) {
    pod.seen = { key, answered: false };
    if ((grant?.revision ?? 0) > 0) began();
  }
  if (behaviour === "hangs") return "busy";
  if (grant !== undefined && grant.revision > 0 && !has(node.journal, grant)) {
    const { revision = 0, dead } = node.journal ?? {};
    const content = slotOf(mounted.secret, grant);
    if (grant.revision < revision) return ends("behind", exitCodes.refused, lines.behind);
    if (content === undefined) return "busy";
    if (dead === key) return ends("failed", exitCodes.gaveUp, `${catalogue.rolledBack[0]} it died`);
    if (content.intent !== "release") {
      if (behaviour === "refuses") return ends("unfit", exitCodes.refused, lines.unfit);
      if (!["ready", "breaks", "wordless"].includes(behaviour))
        return ends("failed", exitCodes.gaveUp, behaviour);
    }
    begin(node, content);
    return "busy";
  }
  if (node.journal === undefined) {
    const served = servedIn(mounted.secret);
    if (served === undefined) node.journal = { revision: 0, digest: "" };
    else begin(node, served);
    return "busy";
  }
  if (grant !== undefined && grant.revision > 0 && behaviour !== "wordless") {
    const isRelease = slotOf(mounted.secret, grant)?.intent === "release";
    const word = isRelease ? "released" : grant.word ? "proved" : undefined;
    const answer = word && ends(word, exitCodes.done, lines[word]);
    if (typeof answer === "object") return answer;
  }
  return isAnswered(pod, grant, now) ? "ready" : "busy";
};

/**
 * After an agent has written its termination message, it continues, unless the message reports that
 * it cannot continue.
 */
const answerAfter = (kind: MessageKind): Answer =>
  kind === "proved" || kind === "released" ? "ready" : "busy";

/** True if an earlier probe under this grant was answered NotReady, and its second is over. */
function isAnswered(pod: ModelPod, grant: Grant | undefined, now: number): boolean {
  if (grant === undefined) return true;
  const isOther = Math.floor(now) !== Math.floor(Date.parse(grant.since) / 1000);
  const isSeen = pod.seen.answered;
  pod.seen = { ...pod.seen, answered: true };
  return isSeen && isOther;
}

const has = (journal: Journal | undefined, { revision, digest }: Grant): boolean =>
  journal?.begun === undefined && journal?.revision === revision && journal.digest === digest;

/** The content in the Secret that a grant names. */
const slotOf = (secret: Texts, { revision, digest }: Grant): Content | undefined =>
  [contentIn(secret, secretKeys), contentIn(secret, servedKeys)].find(
    (content) => content?.revision === revision && content.digest === digest,
  );

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

/** Restarts the kubelet for the content, unless the node has the content already. */
function begin(node: ModelNode, content: Content): void {
  const { document } = content;
  if (document === node.applied) {
    node.journal = journalOf(content);
    return;
  }
  const before = node.journal ?? { revision: 0, digest: "" };
  node.journal = { ...before, begun: content };
  node.restarts.push(document ?? emptyDocument);
  node.kubelet = "restarting";
}

/** Ends a change that has begun: the kubelet runs with the new content. */
function finish(node: ModelNode): void {
  const { begun } = node.journal ?? {};
  if (begun === undefined) return;
  node.applied = begun.document;
  node.journal = journalOf(begun);
}

const journalOf = ({ revision, digest, intent }: Content): Journal => ({
  revision,
  digest,
  released: intent === "release",
});

/** Restores the former file, and records the failed grant as dead. */
function rollBack(node: ModelNode, key: string): void {
  const { begun, revision = 0, digest = "" } = node.journal ?? {};
  node.journal = { revision, digest, ...(begun && { dead: key }) };
  node.kubelet = "up";
}
