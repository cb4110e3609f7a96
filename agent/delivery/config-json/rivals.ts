/** Entries of other programs that the kubelet tries before ours, reported to administrators. */
import { quote } from "#pullsecret/problems/keypath.ts";
import {
  hasWildcard,
  hostOf,
  identity,
  isTriedBefore,
  overlaps,
} from "#pullsecret/registry/registry.ts";
import type { Content } from "#agent/journal/journal.ts";
import { type NodeDocument, credentialOf } from "./document.ts";

type Known = Readonly<{ key: string; registry: string }>;

/**
 * The report if an entry of another program has another credential than ours, and serves some of
 * our images first, for example because its path is longer. Undefined if there is no such entry.
 */
export function rivalsIn(document: NodeDocument, ours: Content): string | undefined {
  const cached = answers.get(document);
  if (cached?.ours === ours) return cached.answer;
  const answer = find(document, ours);
  answers.set(document, { ours, answer });
  return answer;
}

/**
 * Cached answers. `document` and `ours` are the same objects in each round, unless the file or the
 * journal was written.
 */
const answers = new WeakMap<NodeDocument, { ours: Content; answer: string | undefined }>();

function find({ auths }: NodeDocument, { entries }: Content): string | undefined {
  const present = entries.filter(({ key, place }) => place === "file" && auths.has(key));
  const ours = present.flatMap(({ key }) => withIdentity(key));
  const mine = new Set(present.map(({ key }) => key));
  const theirs = [...auths.keys()].filter((key) => !mine.has(key)).flatMap(withIdentity);
  const credential = (key: string) => credentialOf(auths.get(key)).join(":");
  // Without wildcards, only registries of the same host overlap. Docker Hub's key names
  // index.docker.io, but serves docker.io.
  const byHost = Map.groupBy(ours, ({ registry }) => placeOf(registry));
  const anywhere = ours.filter(({ registry }) => hasWildcard(registry));
  const rivals = theirs.flatMap((their) => {
    const near = hasWildcard(their.registry)
      ? ours
      : [...(byHost.get(placeOf(their.registry)) ?? []), ...anywhere];
    const before = near.find(
      (entry) =>
        isTriedBefore(their.registry, entry.registry) &&
        overlaps(their.registry, entry.registry) &&
        credential(their.key) !== credential(entry.key),
    );
    return before === undefined ? [] : [`${quote(their.key)} before ${quote(before.key)}`];
  });
  if (rivals.length === 0) return undefined;
  const more = rivals.length > most ? `, and ${rivals.length - most} more` : "";
  return `the kubelet tries entries of other programs first: ${rivals.slice(0, most).join(", ")}${more}`;
}

/** The number of entries that fit into one line. */
const most = 3;

function withIdentity(key: string): Known[] {
  const registry = identity(key);
  return registry === undefined ? [] : [{ key, registry }];
}

function placeOf(registry: string): string {
  const host = hostOf(registry);
  return host === "index.docker.io" ? "docker.io" : host;
}
