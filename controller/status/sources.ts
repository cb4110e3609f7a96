/** A run's verdict on the sources, in the words of status. Pure. */
import type { SourcesVerdict } from "../sources/accept.ts";
import { isExtra } from "../sources/verdict.ts";
import type { SourceFacts } from "./facts.ts";

export function sourceFacts({ sources }: SourcesVerdict): readonly SourceFacts[] {
  return sources.map(({ name, resourceVersion, accepted, reason, message }) => ({
    name,
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    accepted,
    reason,
    message,
    extra: isExtra({ name }),
  }));
}
