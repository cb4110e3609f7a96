/**
 * The agent in the model: it applies the revision of its pod's template, as the mounted Secret has
 * it, and restarts its node's kubelet for it.
 */
import { catalogue } from "#contract/agent-codes.ts";
import { digestAnnotation, exitCodes, revisionAnnotation, secretKeys } from "#contract/names.ts";
import type { Agent, Answer, ModelNode, ModelPod, Texts } from "./nodes.ts";

/** The document of a withdrawal. */
export const emptyDocument = '{"auths":{}}';

/** Seconds for which a revision that failed is not tried again. */
const quarantineSeconds = 600;

const words = {
  refused: "GPS206 config.json is a symbolic link",
  gaveUp: `${catalogue.rolledBack[0]} it died`,
  withdrawn: (revision: number) => `${catalogue.withdrawn[0]} withdrawn (revision ${revision})`,
};

/** The revision that a pod applies. */
export const revisionOf = ({ annotations }: Pick<ModelPod, "annotations">): number =>
  Number(annotations[revisionAnnotation]);

/** `isProved`: false keeps an agent from Ready whose kubelet runs with the revision. */
export const agentOf =
  (isProved: (node: ModelNode) => boolean = () => true): Agent =>
  (node, pod, { behaviour, mounted, now }) => {
    const revision = revisionOf(pod);
    const digest = pod.annotations[digestAnnotation] ?? "";
    const once = (exitCode: number, message: string): Answer =>
      pod.state.container.last?.message === message ? "busy" : { exitCode, message };
    if (node.kubelet === "down") {
      rollBack(node, now);
      return { exitCode: exitCodes.gaveUp, message: words.gaveUp };
    }
    finish(node);
    if (behaviour === "hangs") return "busy";
    if (behaviour === "refuses") return once(exitCodes.refused, words.refused);
    if (!["ready", "breaks", "wordless"].includes(behaviour))
      return once(exitCodes.gaveUp, behaviour);
    if (revision === 0) return "ready";
    const content = contentOf(mounted.secret, revision);
    if (node.journal?.revision !== revision || node.journal.digest !== digest) {
      const { quarantine } = node.journal ?? {};
      const isQuarantined = quarantine?.revision === revision && now < quarantine.until;
      if (content === undefined || isQuarantined || begin(node, { revision, digest, ...content }))
        return "busy";
    }
    if (content?.intent === "release" && behaviour !== "wordless") {
      const word = once(exitCodes.done, words.withdrawn(revision));
      if (word !== "busy") return word;
    }
    return isProved(node) ? "ready" : "busy";
  };

/** The Secret's content, if the Secret has this revision. */
function contentOf(secret: Texts, revision: number) {
  if (secret[secretKeys.revision] !== String(revision)) return undefined;
  const { [secretKeys.document]: text, [secretKeys.intent]: intent } = secret;
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

function rollBack(node: ModelNode, now: number): void {
  const { begun, revision = 0, digest = "" } = node.journal ?? {};
  const until = now + quarantineSeconds;
  node.journal = {
    revision,
    digest,
    ...(begun && { quarantine: { revision: begun.revision, until } }),
  };
  node.kubelet = "up";
}
