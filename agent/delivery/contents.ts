/** Selects the content of global-pull-secret that concerns this node. Pure. */
import { imagesOf } from "#pullsecret/registry/key.ts";
import { type PublishedMode, secretKeys, servedKeys } from "#contract/names.ts";
import { type Order, belongsTo, type Named } from "#contract/order.ts";
import { type Document, interpret, type Mounted, type Newest, revisionIn } from "./mount.ts";

/** `mounted`: the content that the node is to have. */
export type Contents = Readonly<{ mounted: Mounted; newest: Newest | undefined }>;

/**
 * `order`: the order to follow. `kept`: the content that the journal names. `mode`: the mode of
 * this agent.
 */
export type Choice = Readonly<{
  order: Order | undefined;
  kept: Named | undefined;
  mode: PublishedMode;
}>;

/**
 * Selects a withdrawal, or else the ordered content, or else the content that the node has. Without
 * an order and without content, selects the served content. If the agent's mode differs from the
 * Secret's mode, the agent takes only a withdrawal. If both slots have the same revision, only the
 * newest slot counts. `read` returns a key's value.
 */
export function selectContent(
  read: (key: string) => Buffer,
  { order, kept, mode }: Choice,
): Contents {
  const revision = revisionIn(read(secretKeys.revision));
  const servedRevision = revisionIn(read(servedKeys.revision));
  if (revision === undefined || servedRevision === undefined)
    return {
      mounted: { kind: "incomplete", why: "revision is not a number" },
      newest: undefined,
    };
  const newestContent = interpret(contentAt(read, secretKeys));
  if (newestContent.kind === "document" && newestContent.intent === "release")
    return { mounted: newestContent, newest: undefined };
  const newest = newestContent.kind === "document" ? newestOf(newestContent) : undefined;
  const isOurMode = read(secretKeys.mode).toString("latin1") === mode;
  const hasOlder = servedRevision > 0 && servedRevision < revision;
  const served = () =>
    hasOlder ? without(interpret(contentAt(read, servedKeys)), newest) : newestContent;
  /** The content with this revision, if a slot has it. */
  const at = (number: number): Mounted | undefined =>
    number === revision ? newestContent : number === servedRevision ? served() : undefined;
  if (order === undefined && kept === undefined) {
    if (servedRevision === 0 || !isOurMode) return { mounted: { kind: "nothing" }, newest };
    const content = served();
    return { mounted: isDocument(content) ? { ...content, served: true } : content, newest };
  }
  let why: string | undefined;
  for (const named of [order, kept]) {
    const content = named && at(named.revision);
    if (named === undefined || content === undefined) continue;
    if (content.kind !== "document") return { mounted: content, newest };
    if (belongsTo(named, content) && isOurMode) return { mounted: content, newest };
    why ??= isOurMode ? "with other content" : "for another delivery mode";
  }
  return { mounted: { kind: "other", revision, ...(why && { why }) }, newest };
}

/** The older content without the registries that the newest content has removed. */
function without(content: Mounted, newest: Newest | undefined): Mounted {
  if (content.kind !== "document" || newest === undefined) return content;
  const entries = [...content.desired.entries].filter(([registry]) => newest.has(registry));
  return { ...content, desired: { ...content.desired, entries: new Map(entries) } };
}

function isDocument(content: Mounted): content is Document {
  return content.kind === "document";
}

function newestOf({ revision, desired }: Document): Newest {
  const images = new Set([...desired.entries.keys()].map(imagesOf));
  return { revision, has: (registry) => images.has(imagesOf(registry)) };
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
