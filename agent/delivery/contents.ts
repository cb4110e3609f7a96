/** Reads the contents of global-pull-secret. Pure. */
import { type Former, readFormer } from "#pullsecret/merge/former.ts";
import { imagesOf } from "#pullsecret/registry/key.ts";
import { formerKey, type PublishedMode, secretKeys, servedKeys } from "#contract/names.ts";
import type { Content } from "../journal/journal.ts";
import { interpret, type Mounted, type Published, revisionIn } from "./mount.ts";

/**
 * `served`: the content that a node without content may take unasked. `isOurMode`: whether this
 * agent may take content; if not, it only follows removals. `former`: digests of values that were
 * ours.
 */
export type Contents =
  | Readonly<{
      kind: "contents";
      newest: Published;
      served: Published | undefined;
      isOurMode: boolean;
      former: Former;
    }>
  | Exclude<Mounted, { kind: "document" }>;

/**
 * Interprets both slots. If they have the same revision, only the newest slot counts. The served
 * content lacks the registries that the newest content has removed. `read` returns a key's value.
 */
export function readContents(read: (key: string) => Buffer, mode: PublishedMode): Contents {
  const servedRevision = revisionIn(read(servedKeys.revision));
  if (servedRevision === undefined)
    return { kind: "incomplete", why: "served.revision is not a number" };
  const newest = interpret(contentAt(read, secretKeys));
  if (newest.kind !== "document") return newest;
  const isOlder = servedRevision > 0 && servedRevision < newest.revision && !newest.isRelease;
  const older = isOlder ? interpret(contentAt(read, servedKeys)) : newest;
  if (older.kind !== "document") return older;
  return {
    kind: "contents",
    newest,
    served: servedRevision === 0 ? undefined : only(older, newest),
    isOurMode: read(secretKeys.mode).toString("latin1") === mode,
    former: readFormer(read(formerKey).toString("latin1")),
  };
}

/** The content without the registries that the newest content does not have, in any spelling. */
export function only<C extends Content>(content: C, newest: Content): C {
  const images = new Set(newest.entries.map(({ key }) => imagesOf(key)));
  const entries = content.entries.filter(({ key }) => images.has(imagesOf(key)));
  return entries.length === content.entries.length ? content : { ...content, entries };
}

function contentAt(read: (key: string) => Buffer, keys: typeof servedKeys | typeof secretKeys) {
  return {
    revision: read(keys.revision),
    document: read(keys.document),
    salt: read(keys.salt),
    intent: read(keys.intent),
    sources: read(keys.sources),
  };
}
