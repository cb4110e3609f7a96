/**
 * The agent in the model: it applies what its pod is granted, as the mounted Secret has it, and
 * restarts its node's kubelet for it. Without a grant it keeps what its node has, and a node that
 * joins takes what is served.
 */
import { catalogue } from "#contract/agent-codes.ts";
import { fromTemplate, type Grant, grantOf, keyOf } from "#contract/grant.ts";
import {
  digestAnnotation,
  exitCodes,
  revisionAnnotation,
  secretKeys,
  servedKeys,
  sinceAnnotation,
} from "#contract/names.ts";
import { messageOf, type WordKind } from "#contract/word.ts";
import type { Agent, Answer, ModelNode, ModelPod, Texts } from "./nodes.ts";

/** The document of a withdrawal. */
export const emptyDocument = '{"auths":{}}';

/** Seconds for which a template's revision that failed is not tried again. */
const quarantineSeconds = 600;

const lines: Readonly<Record<WordKind, string>> = {
  proved: `${catalogue.inForce[0]} the revision is in force`,
  failed: `${catalogue.rolledBack[0]} it died`,
  unfit: "GPS206 config.json is a symbolic link",
  behind: `${catalogue.behind[0]} the node has a higher revision`,
  released: `${catalogue.withdrawn[0]} withdrawn`,
};

const exits: Readonly<Record<WordKind, number>> = {
  proved: exitCodes.done,
  failed: exitCodes.gaveUp,
  unfit: exitCodes.refused,
  behind: exitCodes.refused,
  released: exitCodes.done,
};

/** The revision that a pod is granted, or that its template names. */
export const revisionOf = ({ annotations }: Pick<ModelPod, "annotations">): number =>
  Number(annotations[revisionAnnotation] ?? 0);

/** Agents of version 0.2 take the annotations of their template for a grant, without a `since`. */
const readAnnotations = (annotations: Texts) =>
  grantOf({
    [digestAnnotation]: "",
    ...annotations,
    [sinceAnnotation]: annotations[sinceAnnotation] ?? fromTemplate,
  });

/** `isProved`: false keeps an agent from Ready whose kubelet runs with the revision. */
export const agentOf =
  (isProved: (node: ModelNode) => boolean = () => true): Agent =>
  (node, pod, { behaviour, mounted, now }) => {
    const grant = readAnnotations(mounted.annotations);
    const says = (kind: WordKind, line = lines[kind]): Exclude<Answer, string> => {
      const journal = node.journal?.revision ?? 0;
      const named = `${line} (revision ${grant?.revision ?? 0})`;
      const message = grant ? messageOf(named, { kind, grant, journal }) : line;
      return { exitCode: exits[kind], message };
    };
    const once = (answer: Exclude<Answer, string>): Answer =>
      pod.state.container.last?.message === answer.message ? "busy" : answer;
    // A change that has begun is ended, whatever is granted meanwhile.
    if (node.kubelet === "down") {
      const word = says("failed");
      rollBack(node, now, grant);
      return word;
    }
    finish(node);
    if (behaviour === "hangs") return "busy";
    const isTemplate = grant?.since === fromTemplate;
    if (grant === undefined || (grant.revision === 0 && !isTemplate)) {
      if (!hasBegun(node, mounted.secret)) return "busy";
      return grant === undefined ? "ready" : seen(pod, grant, now);
    }
    if (behaviour === "refuses") return once(says("unfit"));
    if (!["ready", "breaks", "wordless"].includes(behaviour)) {
      const { message } = says("failed", behaviour);
      return once({ exitCode: exits.failed, message: isTemplate ? behaviour : message });
    }
    const { revision, digest } = grant;
    if (revision === 0) return "ready";
    if (!isTemplate && revision < (node.journal?.revision ?? 0)) return once(says("behind"));
    const content = contentOf(mounted.secret, revision);
    if (node.journal?.revision !== revision || node.journal.digest !== digest) {
      if (isDead(node, grant, now)) return isTemplate ? "busy" : once(says("failed"));
      if (content === undefined || begin(node, { revision, digest, ...content })) return "busy";
    }
    if (content?.intent === "release" && behaviour !== "wordless") {
      const word = once(says("released"));
      if (word !== "busy") return word;
    } else if (grant.word) {
      const word = once(says("proved"));
      if (word !== "busy") return word;
    }
    if (!isProved(node)) return "busy";
    return isTemplate ? "ready" : seen(pod, grant, now);
  };

/**
 * Ready for a grant only after the running kubelet has seen the agent unready for it, and in
 * another second than the grant's.
 */
function seen(pod: ModelPod, grant: Grant, now: number): Answer {
  const key = `${pod.state.container.restarts} ${keyOf(grant)}`;
  const isSameSecond = Math.floor(Date.parse(grant.since) / 1000) === Math.floor(now);
  const answer = pod.unready === key && !isSameSecond ? "ready" : "busy";
  pod.unready = key;
  return answer;
}

/** False while a node without a record takes what is served. */
function hasBegun(node: ModelNode, secret: Texts): boolean {
  if (node.journal !== undefined) return true;
  const served = Number(secret[servedKeys.revision] ?? 0);
  const content = served > 0 ? contentOf(secret, served) : undefined;
  if (content === undefined) {
    node.journal = { revision: 0, digest: "" };
    return true;
  }
  return !begin(node, { revision: served, digest: "", ...content });
}

function isDead({ journal }: ModelNode, grant: Grant, now: number): boolean {
  const { quarantine } = journal ?? {};
  if (quarantine === undefined) return false;
  if (grant.since !== fromTemplate) return quarantine.grant === keyOf(grant);
  return quarantine.revision === grant.revision && now < quarantine.until;
}

/** The content of this revision, if the Secret has it as the newest or the served one. */
function contentOf(secret: Texts, revision: number) {
  const number = String(revision);
  const keys = secret[secretKeys.revision] === number ? secretKeys : servedKeys;
  if (secret[keys.revision] !== number) return undefined;
  const { [keys.document]: text, [keys.intent]: intent } = secret;
  return { document: text === emptyDocument ? undefined : text, intent };
}

type Wanted = Readonly<{ revision: number; digest: string }> &
  NonNullable<ReturnType<typeof contentOf>>;

/** True if the kubelet is restarted for the content; false if the node has it already. */
function begin(node: ModelNode, { revision, digest, document, intent }: Wanted): boolean {
  const keeps = intent === "hold" && node.applied !== undefined;
  if (keeps || document === node.applied) {
    node.journal = { ...node.journal, revision, digest };
    return false;
  }
  const before = node.journal ?? { revision: 0, digest: "" };
  node.journal = { ...before, begun: { revision, digest, document } };
  node.restarts.push(document ?? emptyDocument);
  node.kubelet = "restarting";
  return true;
}

/** Takes a change that has begun for done: the kubelet runs with it. */
function finish(node: ModelNode): void {
  const { begun } = node.journal ?? {};
  if (begun === undefined) return;
  node.applied = begun.document;
  node.journal = { revision: begun.revision, digest: begun.digest };
}

function rollBack(node: ModelNode, now: number, grant: Grant | undefined): void {
  const { begun, revision = 0, digest = "" } = node.journal ?? {};
  const until = now + quarantineSeconds;
  node.journal = {
    revision,
    digest,
    ...(begun && {
      quarantine: { revision: begun.revision, until, ...(grant && { grant: keyOf(grant) }) },
    }),
  };
  node.kubelet = "up";
}
