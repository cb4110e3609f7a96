/** Readers of the labels and annotations that an installer gives to the agents' pods. */
import { agentLabels } from "#contract/names.ts";
import { Wrong } from "#contract/values.ts";
import { ownerLabels } from "#kube/client/ownership.ts";

/** Name of a label or annotation as the API server accepts it: 63 characters after a domain. */
const key =
  /^(?:(?=.{1,253}\/)[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const value = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/**
 * Names that are ours, now or in earlier versions, and those that the DaemonSet controller writes
 * itself.
 */
const reserved = /^(?:globalpullsecret\.io|global-pull-secret)\//;
const reservedLabels = new Set([
  ...Object.keys(agentLabels),
  ...Object.keys(ownerLabels),
  "controller-revision-hash",
  "pod-template-generation",
]);

export type LabelPair = readonly [key: string, value: string];

export const isKey = (text: string) => key.test(text);
export const isLabelValue = (text: string) => value.test(text);

/** Reads `KEY=VALUE` for a label, in the syntax of `kubectl label`. */
export function label(text: string): LabelPair | Wrong {
  const pair = keyAndValue(text);
  if (pair instanceof Wrong) return pair;
  if (reservedLabels.has(pair[0])) return new Wrong("is a label of our own; choose another name");
  return isLabelValue(pair[1]) ? pair : new Wrong("has a value that no label may have");
}

/** Reads `KEY=VALUE` for an annotation; the value may be anything. */
export function annotation(text: string): LabelPair | Wrong {
  return keyAndValue(text);
}

function keyAndValue(text: string): LabelPair | Wrong {
  const at = text.indexOf("=");
  const name = text.slice(0, Math.max(at, 0));
  if (!isKey(name)) return new Wrong("is no KEY=VALUE; give one such as example.com/team=platform");
  if (reserved.test(name)) return new Wrong("begins as our own do; choose another name");
  return [name, text.slice(at + 1)];
}
