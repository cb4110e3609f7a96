/**
 * The demo's main part: from a pod that cannot pull to a cluster without a trace of the product.
 */
import * as names from "#contract/names.ts";
import { until } from "../cluster/await.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { run } from "../cluster/run.ts";
import { podOn, stateOf } from "../e2e/pods.ts";
import * as product from "../e2e/product.ts";
import { seconds, showChange, showFailure, showJoiner } from "./changes.ts";
import type { Narrator } from "./narrator.ts";
import { plugin } from "./offline.ts";

/** node1 has a file of another program, oddly formatted; node2 has none. */
const others = '{ "auths": {\n    "elsewhere.example": {"auth":"c29tZWJvZHk6ZWxzZQ=="}} }\n';

const object = `globalpullsecret/${names.globalPullSecretName}`;

/**
 * Runs the main part on a cluster of two nodes. Throws ClaimFailed at the first claim that does not
 * hold.
 */
export async function runStory(cluster: Cluster, narrator: Narrator): Promise<void> {
  const { nodes } = cluster;
  nodes[0]?.writeFile("config.json", others, 0o640);

  narrator.step("install");
  await product.installProduct(cluster, {
    args: ["--delivery-modes=Restart,CredentialProvider"],
  });
  narrator.claim("nothingYet", (await product.ourObjects(cluster)).length === 0);

  narrator.step("pods");
  const image = await cluster.pushApp("team/app:1");
  const pods = nodes.map((node) => `app-${node.name}`);
  await cluster.apply(...nodes.map((node) => podOn(node, `app-${node.name}`, image)));
  await watchPods(cluster, narrator, pods, (states) =>
    states.every((state) => state === "ImagePullBackOff"),
  );
  narrator.claim("refused", true, { image });

  narrator.step("created");
  const created = performance.now();
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  await watchNodes(cluster, narrator);
  await watchPods(cluster, narrator, pods, (states) =>
    states.every((state) => state === "Running"),
  );
  narrator.claim("running", true, { seconds: seconds(created) });
  narrator.writeLine((await product.rolledOut(cluster)).trim().split("\n").at(-1) ?? "");

  narrator.step("seen");
  await showPlugin(cluster, narrator, "wait", "--timeout", "60s");
  await show(cluster, narrator, "get", "daemonset", names.agentName, "-n", names.namespace);
  await show(cluster, narrator, "get", "secret", names.globalSecretName, "-n", names.namespace);
  await show(
    cluster,
    narrator,
    "get",
    "pods",
    "-n",
    names.namespace,
    "-l",
    `name=${names.agentName}`,
  );
  await show(cluster, narrator, "get", "globalpullsecret", names.globalPullSecretName);
  await showPlugin(cluster, narrator, "status");
  await showPlugin(cluster, narrator, "nodes");
  await showPlugin(cluster, narrator, "explain", image);
  const merged = JSON.parse(nodes[0]?.readFile("config.json")?.toString() ?? "{}") as {
    auths: object;
  };
  narrator.claim("neighbour", "elsewhere.example" in merged.auths);

  await showChange(cluster, narrator);

  narrator.step("badEdit");
  const served = await product.revision(cluster);
  await product.writeAdditional(cluster, '{"auths":{"registry.example":{"auth":"user:password"}}}');
  const event = await product.untilEvent(cluster, "Rejected", /auths\["registry\.example"\]\.auth/);
  narrator.writeLine(`${event.type}  ${event.reason}  ${event.message}`);
  await show(cluster, narrator, "wait", "--for=condition=Stalled", object, "--timeout=60s");
  narrator.claim("lastGood", (await product.revision(cluster)) === served);

  await showJoiner(cluster, narrator);
  await showFailure(cluster, narrator);

  narrator.step("deleted");
  await product.deleteAdditional(cluster);
  const deleted = performance.now();
  await until(
    "nothing is left",
    async () => {
      const left = await product.ourObjects(cluster);
      narrator.live(
        left.length === 0
          ? "nothing left"
          : `still there: ${left.map((name) => name.split("/")[0]?.split(".")[0]).join(", ")}`,
      );
      return left.length === 0;
    },
    { timeout: 120_000, every: 300 },
  );
  narrator.claim("gone", true, { seconds: seconds(deleted) });
  const [first, ...rest] = nodes.map((node) => node.readFile("config.json")?.toString());
  narrator.claim("sameBytes", first === others, { seen: first });
  narrator.claim(
    "noFile",
    rest.every((file) => file === undefined),
    { seen: rest.join() },
  );
  const leftovers = await Promise.all(
    nodes.map((node) =>
      node.exec([
        "find",
        "/var/lib/kubelet",
        "-path",
        "*pods*",
        "-prune",
        "-o",
        "-name",
        "*global-pull-secret*",
        "-print",
      ]),
    ),
  );
  const left = leftovers.join("");
  narrator.claim("noTrace", left.trim() === "", { seen: left });
}

async function show(
  cluster: Cluster,
  narrator: Narrator,
  ...command: readonly string[]
): Promise<void> {
  narrator.writeLine(`$ kubectl ${command.join(" ")}`);
  narrator.writeLine(await cluster.kubectl(...command));
}

/** Runs the built plugin and prints the plugin's output. Throws if the plugin fails. */
async function showPlugin(
  { kubeconfig }: Cluster,
  narrator: Narrator,
  ...command: readonly string[]
): Promise<void> {
  narrator.writeLine(`$ kubectl pull-secret ${command.join(" ")}`);
  const argv = [process.execPath, plugin, ...command, "--kubeconfig", kubeconfig];
  narrator.writeLine(await run(argv));
}

async function watchPods(
  cluster: Cluster,
  narrator: Narrator,
  pods: readonly string[],
  done: (states: string[]) => boolean,
): Promise<void> {
  const look = (): Promise<string[]> => Promise.all(pods.map((pod) => stateOf(cluster, pod)));
  await until(
    "the pods are there",
    async () => {
      const states = await look();
      narrator.live(pods.map((pod, index) => `${pod}: ${states[index]}`).join("   "));
      return done(states);
    },
    { timeout: 120_000, every: 200, seen: look },
  );
}

type AgentPod = {
  spec: { nodeName: string };
  metadata: { annotations: Record<string, string> };
  status: { conditions?: { type: string; status: string }[] };
};

/** Shows revision and readiness of every agent until all agents have the published revision. */
async function watchNodes(cluster: Cluster, narrator: Narrator): Promise<void> {
  await until(
    "every node has the credential",
    async () => {
      const list = await cluster.get<{ items: AgentPod[] }>(
        "pods",
        "-n",
        names.namespace,
        "-l",
        `name=${names.agentName}`,
      );
      const wanted = await product.revision(cluster);
      const seen = cluster.nodes.map(({ name }) => {
        const pod = list?.items.findLast(({ spec }) => spec.nodeName === name);
        const ready =
          pod?.status.conditions?.some(
            ({ type, status }) => type === "Ready" && status === "True",
          ) ?? false;
        const revision = pod?.metadata.annotations[names.revisionAnnotation];
        return {
          served: ready && wanted !== undefined && revision === String(wanted),
          text: `${name}: revision ${revision ?? "-"}${ready ? " ready" : ""}`,
        };
      });
      narrator.live(seen.map(({ text }) => text).join("   "));
      return seen.every(({ served }) => served);
    },
    { timeout: 120_000, every: 200 },
  );
}
