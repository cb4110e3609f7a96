/** Pull secrets: what a test declares, and what the controller publishes. */
import type { V1Secret } from "@kubernetes/client-node";
import { until } from "#test/cluster/await.ts";
import { untilEvent } from "./events.ts";
import { paths } from "./paths.ts";
import type { Plane } from "./start.ts";

/** A pull secret's document with these entries: registry → `user:password`. */
export function document(entries: Record<string, string>): string {
  const auths = Object.entries(entries).map(([registry, pair]) => [
    registry,
    { auth: Buffer.from(pair).toString("base64") },
  ]);
  return JSON.stringify({ auths: Object.fromEntries(auths) });
}

export function pullSecret(name: string, text: string, more: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace: "kube-system" },
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": Buffer.from(text).toString("base64") },
    ...more,
  };
}

/** Creates or replaces additional-pull-secret. */
export async function declare(
  plane: Plane,
  text: string,
  name = "additional-pull-secret",
): Promise<void> {
  await plane.api.apply(`${paths.secrets}/${name}`, pullSecret(name, text), {
    manager: "test",
    force: true,
  });
}

/** `served`: the revision that new nodes get, or 0 if they get none. */
type Published = Readonly<{ document: string; revision: number; served: number; sources: string }>;

/** global-pull-secret in readable form; undefined if it does not exist. */
export async function published(plane: Plane): Promise<Published | undefined> {
  const secret = await plane.api.get<V1Secret>(paths.global);
  if (secret === undefined) return undefined;
  const text = (key: string) => Buffer.from(secret.data?.[key] ?? "", "base64").toString();
  return {
    document: text(".dockerconfigjson"),
    revision: Number(text("revision")),
    served: Number(text("served.revision")),
    sources: text("sources"),
  };
}

/** Waits until the published document is this one. Returns its revision. */
export async function untilPublished(
  plane: Plane,
  expected: string,
  timeout = 20_000,
): Promise<number> {
  const seen = await until(
    `${expected} is published`,
    async () => {
      const now = await published(plane);
      return now?.document === expected && now;
    },
    { timeout, seen: () => published(plane) },
  );
  return seen.revision;
}

/**
 * Waits for the Event which reports that every reachable node has this revision. Returns the
 * Event's message.
 */
export async function untilRolledOut(
  plane: Plane,
  revision: number,
  timeout = 180_000,
): Promise<string> {
  return (await untilEvent(plane, "RolledOut", `revision ${revision} is on`, timeout)).message;
}

/** Declares this document and waits until it is rolled out. Returns its revision. */
export async function deployed(plane: Plane, text: string): Promise<number> {
  await declare(plane, text);
  const revision = await untilPublished(plane, text);
  await until("the DaemonSet is there", async () => await plane.api.get(paths.daemonSet));
  await untilRolledOut(plane, revision);
  return revision;
}

/** A document with one entry, whose password is this word. */
export const content = (word: string) => document({ "quay.io": `robot:${word}` });
