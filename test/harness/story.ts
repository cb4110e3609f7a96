/**
 * The story: the README's promises, played by one controller against any API server: create,
 * rotate, refuse, halt, withdraw. Returns the controller's actions, without times, uids and counts
 * that vary, so that you can compare a fake API server with a real API server.
 */
import assert from "node:assert/strict";
import type { V1DaemonSet, V1Lease, V1Pod, V1Secret } from "@kubernetes/client-node";
import type {
  GlobalPullSecret,
  GlobalPullSecretSpec,
  StatusCondition,
} from "#api/global-pull-secret.ts";
import { agentName, secretKeys } from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { fieldManager } from "#kube/client/ownership.ts";
import { collections, globalPullSecretPath, leaseIn, owned } from "#kube/client/paths.ts";
import { until } from "../cluster/await.ts";
import type { NodesDriver } from "./nodes/drive.ts";

/** A request of the controller other than get, list and watch. */
type Write = Readonly<{
  verb: string;
  /** The resource with its API group and subresource: `apps/daemonsets/status`. */
  resource: string;
  name: string;
  /** The query, which contains the field manager and marks a dry run. */
  query: Readonly<Record<string, string>>;
  status: number;
}>;

/** What the story needs. */
export type Stage = Readonly<{
  /** The administrator's calls. */
  admin: Cluster;
  nodes: NodesDriver;
  /** Starts the controller in a cluster without objects of ours. */
  start: () => Readonly<{ stop: () => Promise<number>; output: () => string }>;
  /** All of the controller's writes so far, in order. */
  writes: () => readonly Write[];
}>;

/** The outcome of one chapter. */
export type Chapter = Readonly<{
  title: string;
  /**
   * The requests that changed objects, with the server's answers. Omits Events, status and Leases.
   * Created and deleted objects come first, in order. Changed objects follow, each once, because
   * the number of changes depends on timing.
   */
  writes: readonly string[];
  /**
   * New Events on additional-pull-secret, sorted. A Warning that is repeated while its cause lasts
   * is listed once.
   */
  events: readonly string[];
  conditions: readonly string[];
  /** The document in force on each node, sorted. */
  nodes: readonly string[];
  /** Each field that one of our field managers owns: object, manager, operation, path. */
  owners: readonly string[];
}>;

export const nodeNames = ["node-a", "node-b"];

const seconds = { probation: "3s", grace: "0s" };
const additional = `${collections.secrets}/additional-pull-secret`;
const administrator = { manager: "administrator", force: true };

const credentials = ["one", "two", "three"].map((word) => `robot:${word}-8c1f`);
const base64 = (text: string) => Buffer.from(text).toString("base64");
const documentOf = (auth: string) => JSON.stringify({ auths: { "r0.example": { auth } } });
const [first = "", rotated = "", failing = ""] = credentials.map((pair) =>
  documentOf(base64(pair)),
);
const mistake = "not-base64!";

/** The documents in the order in which they are declared. The controller refuses `mistake`. */
export const documents = { first, rotated, failing, mistake } as const;

/** Plays the story to its end; fails if a promise of the README is broken on the way. */
export async function play(stage: Stage): Promise<Chapter[]> {
  const teller = new Teller(stage);
  const { nodes } = stage;
  for (const name of nodeNames) await nodes.add(name);
  await teller.install();
  const controller = stage.start();
  await teller.untilReady("NoSource");
  await teller.steer("100%");
  await teller.chapter("install");

  await teller.declare(first);
  await teller.untilInForce(first);
  await teller.untilEvent("RolledOut");
  await teller.shown(nodeNames.length);
  await teller.chapter("create");

  await teller.declare(rotated);
  const revision = await teller.untilInForce(rotated);
  await teller.untilEvent("RolledOut");
  await teller.chapter("rotate");

  const before = await stage.admin.get<V1Secret>(owned.global);
  await teller.declare(documentOf(mistake));
  await teller.untilStalled("SourceRejected");
  const rejected = await teller.untilEvent("Rejected");
  assert.match(rejected, /auths\["r0\.example"\]\.auth/);
  assert.deepEqual(await stage.admin.get(owned.global), before);
  await teller.chapter("refuse");

  await teller.steer(1);
  nodes.behaviour = (_, asked) => (asked > revision ? "GPS218 the kubelet did not start" : "ready");
  await teller.declare(failing);
  await teller.untilStalled("Halted");
  await teller.untilEvent("RolloutHalted");
  const failed = nodes.starts.filter((start) => start.revision > revision);
  assert.equal(failed.length, 1, "nodes that were asked to take the content that fails");
  await teller.chapter("halt");

  const secret = await stage.admin.get<V1Secret>(additional);
  await stage.admin.remove(additional, secret?.metadata?.uid ?? "");
  await teller.untilEvent("Removed");
  await teller.untilReady("NoSource");
  await teller.chapter("withdraw");
  for (const path of Object.values(owned)) assert.equal(await stage.admin.get(path), undefined);

  assert.equal(await controller.stop(), 0);
  const lease = await stage.admin.get<V1Lease>(leaseIn("kube-system"));
  assert.equal(lease?.spec?.holderIdentity, "");
  for (const text of [...credentials.flatMap((pair) => [pair, base64(pair)]), mistake])
    assert.ok(!controller.output().includes(text), "a credential is in the output");
  return teller.chapters;
}

type Event = Readonly<{
  type: string;
  reason: string;
  message: string;
  metadata: { name: string };
  involvedObject: { name: string };
}>;

class Teller {
  readonly chapters: Chapter[] = [];
  readonly #stage: Stage;
  #written = 0;
  readonly #reported = new Set<string>();

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  async declare(document: string): Promise<void> {
    const secret = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "additional-pull-secret" },
      type: "kubernetes.io/dockerconfigjson",
      data: { ".dockerconfigjson": base64(document) },
    };
    await this.#stage.admin.apply(additional, secret, administrator);
  }

  /** Creates GlobalPullSecret with its defaults, as the installer does. */
  async install(): Promise<void> {
    await this.#declarePolicy({});
  }

  /** Declares the policy, and waits until it is in force. */
  async steer(maxUnavailable: number | string): Promise<void> {
    const { probation, grace } = seconds;
    const { generation } = await this.#declarePolicy({
      rollout: { maxUnavailable, probation },
      withdrawal: { grace },
    });
    await this.#untilCondition("Ready", (condition) => condition.observedGeneration === generation);
  }

  async #declarePolicy(spec: GlobalPullSecretSpec) {
    const { metadata } = await this.#stage.admin.apply<GlobalPullSecret>(
      globalPullSecretPath,
      {
        apiVersion: "globalpullsecret.io/v1alpha1",
        kind: "GlobalPullSecret",
        metadata: { name: "cluster" },
        spec,
      },
      administrator,
    );
    return metadata;
  }

  async untilReady(reason: string): Promise<void> {
    await this.#untilCondition(
      "Ready",
      (condition) => condition.status === "True" && condition.reason === reason,
    );
  }

  async untilStalled(reason: string): Promise<void> {
    await this.#untilCondition(
      "Stalled",
      (condition) => condition.status === "True" && condition.reason === reason,
    );
  }

  /** Waits until this document is on every node. Returns its revision. */
  async untilInForce(document: string): Promise<number> {
    const revision = await until(`${document} is published`, async () => {
      const { data } = (await this.#stage.admin.get<V1Secret>(owned.global)) ?? {};
      const text = (key: string) => Buffer.from(data?.[key] ?? "", "base64").toString();
      return text(secretKeys.document) === document && Number(text(secretKeys.revision));
    });
    await until(
      `revision ${revision} is in force`,
      async () => (await this.#status()).revision?.inForce === revision,
      { seen: () => this.#status() },
    );
    await this.untilReady("InForce");
    return revision;
  }

  /** Waits for the first new Event of this reason, and returns its message. */
  async untilEvent(reason: string): Promise<string> {
    const firstEvent = await until(
      `there is an Event ${reason}`,
      async () => (await this.#events()).find((event) => event.reason === reason),
      { seen: () => this.#events() },
    );
    return firstEvent.message;
  }

  /** Runs the three commands of the README, and checks that they show this many agents. */
  async shown(count: number): Promise<void> {
    const { admin } = this.#stage;
    const { status } = (await admin.get<V1DaemonSet>(owned.daemonSet)) ?? {};
    assert.equal(status?.numberReady, count);
    const secret = await admin.get<V1Secret>(owned.global);
    const document = Buffer.from(secret?.data?.[secretKeys.document] ?? "", "base64").toString();
    assert.equal(document, first);
    const pods: V1Pod[] = [];
    const query = { labelSelector: `name=${agentName}` };
    await admin.pages<V1Pod>(collections.pods, query, (items) => void pods.push(...items));
    assert.equal(pods.length, count);
  }

  /** Ends a chapter: records what happened since the previous chapter. */
  async chapter(title: string): Promise<void> {
    const all = this.#stage.writes();
    const writes = all.slice(this.#written).filter((write) => isOfChapter(write));
    this.#written = all.length;
    const newEvents = await this.#events();
    const events = newEvents.map(
      ({ type, reason, message }) => `${type} ${reason}: ${steady(message)}`,
    );
    const isOld = (event: string) =>
      event.startsWith("Warning ") &&
      this.chapters.some((chapter) => chapter.events.includes(event));
    for (const { metadata } of newEvents) this.#reported.add(metadata.name);
    const { conditions = [] } = await this.#status();
    const documents = this.#stage.nodes.model.nodes.map(({ applied }) => applied ?? "none");
    this.chapters.push({
      title,
      writes: inOrder(writes.map((write) => described(write))),
      events: [...new Set(events)].filter((event) => !isOld(event)).toSorted(),
      conditions: conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`),
      nodes: documents.toSorted(),
      owners: await this.#owners(),
    });
  }

  async #owners(): Promise<string[]> {
    const paths = [globalPullSecretPath, ...Object.values(owned)];
    const objects = await Promise.all(paths.map((path) => this.#stage.admin.get<V1Secret>(path)));
    return objects.flatMap((object, at) =>
      (object?.metadata?.managedFields ?? [])
        .filter(({ manager }) => manager?.startsWith("global-pull-secret"))
        .flatMap(({ manager, operation, subresource, fieldsV1 }) =>
          leavesOf(fieldsV1 as Tree).map((leaf) =>
            [paths[at]?.split("/").at(-1), manager, operation, subresource, steady(leaf)].join(" "),
          ),
        )
        .toSorted(),
    );
  }

  /** Events on additional-pull-secret that are in no chapter yet. */
  async #events(): Promise<Event[]> {
    const newEvents: Event[] = [];
    await this.#stage.admin.pages<Event>(collections.events, {}, (items) => {
      newEvents.push(
        ...items.filter(
          ({ involvedObject, metadata }) =>
            involvedObject.name === "additional-pull-secret" && !this.#reported.has(metadata.name),
        ),
      );
    });
    return newEvents;
  }

  async #status() {
    return (await this.#stage.admin.get<GlobalPullSecret>(globalPullSecretPath))?.status ?? {};
  }

  async #untilCondition(
    type: string,
    fits: (condition: StatusCondition) => boolean,
  ): Promise<void> {
    await until(
      `the condition ${type} is as it should be`,
      async () =>
        (await this.#status()).conditions?.some(
          (condition) => condition.type === type && fits(condition),
        ),
      { seen: () => this.#status() },
    );
  }
}

type Tree = { [field: string]: Tree };

/** Paths of the leaves of fieldsV1. The key `.` stands for the parent itself, and is not listed. */
function leavesOf(tree: Tree, path = ""): string[] {
  const below = Object.entries(tree).filter(([key]) => key !== ".");
  if (below.length === 0) return [path];
  return below.flatMap(([key, subtree]) => leavesOf(subtree, `${path} ${key}`.trim()));
}

/**
 * True for a write that changed an object other than an Event, a status or a Lease. The number of
 * Events, status writes and Lease writes depends on the clock.
 */
function isOfChapter({ resource, query, status }: Write): boolean {
  if (query["dryRun"] !== undefined || status >= 300) return false;
  return !/^events$|\/status$|\/leases$/.test(resource);
}

function inOrder(writes: readonly string[]): string[] {
  const changes = writes.filter((write) => write.startsWith("patch ") && write.endsWith(": 200"));
  const others = writes.filter((write) => !changes.includes(write));
  return [...others, ...[...new Set(changes)].toSorted()];
}

function described({ verb, resource, name, query, status }: Write): string {
  const { fieldManager: manager = fieldManager } = query;
  const suffix = manager.slice(fieldManager.length);
  if (resource.endsWith("/nodepullsecrets")) return `${verb} nodepullsecrets: ${status}`;
  return `${verb} ${resource}/${name}${suffix === "" ? "" : ` as ${suffix.slice(1)}`}: ${status}`;
}

/**
 * Removes the parts of a message that differ between runs, which are times, revisions, and the name
 * of the first node.
 */
const steady = (message: string): string =>
  message
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replaceAll(/\b\d+ s\b/g, "N s")
    .replaceAll(/\brevision \d+\b/g, "revision N")
    .replaceAll(/\bnode-[ab]\b/g, "NODE");
