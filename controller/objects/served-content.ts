/** What global-pull-secret offers to new nodes beside its newest content. Pure. */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import { type RevisionContent, servedKeys } from "#contract/names.ts";
import { saltLength } from "#pullsecret/merge/digest.ts";
import { newSalt, type Published, type ServedContent } from "./global-secret.ts";

type Known = Readonly<{
  /** The revision that every living node had last, from the state. */
  served: (RevisionContent & Readonly<{ revision: number }>) | undefined;
  /** What the Secret will hold as its newest content. */
  newest: Readonly<{ intent: RevisionContent["intent"]; revision: number }>;
  /** The Secret and its newest content, before this write. */
  live: V1Secret | undefined;
  published: Published | undefined;
  /** A source of the served content is being withdrawn. */
  takesBack: boolean;
}>;

/**
 * The content for nodes that join: what every living node had last. Undefined, which is written as
 * revision 0, before the first rollout is complete, under a withdrawal, and from the moment when a
 * source of it is withdrawn: a node that joins later must not get that credential any more.
 */
export function servedContent(known: Known): ServedContent {
  const { served, newest, takesBack } = known;
  if (served === undefined || served.intent === "release") return undefined;
  if (takesBack || newest.intent === "release" || served.revision > newest.revision)
    return undefined;
  return { ...served, salt: saltOf(served.revision, known) };
}

/** The salt that the revision had: nodes know its content by number and salted digest. */
function saltOf(revision: number, { live, published }: Known): Buffer {
  if (published?.revision === revision && published.salt.length === saltLength)
    return published.salt;
  const text = (key: string) => Buffer.from(live?.data?.[key] ?? "", "base64");
  const kept = text(servedKeys.salt);
  const isKept = text(servedKeys.revision).toString() === String(revision);
  return isKept && kept.length === saltLength ? kept : newSalt();
}
