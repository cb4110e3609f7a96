/**
 * The demo's main part: from a pod that cannot pull to a cluster without a trace of the product.
 */
import * as names from "#contract/names.ts";
import type { Cluster } from "../cluster/cluster.ts";
import * as task from "../e2e/main-task.ts";
import { auths } from "../e2e/nodes.ts";
import * as product from "../e2e/product.ts";
import { seconds, showChange, showDenied, showFailure, showJoiner } from "./changes.ts";
import type { Narrator } from "./narrator.ts";
import { showPlugin } from "./offline.ts";

const object = `globalpullsecret/${names.globalPullSecretName}`;

/**
 * Runs the main part on a cluster of two nodes. Throws ClaimFailed at the first claim that does not
 * hold.
 */
export async function runStory(cluster: Cluster, narrator: Narrator): Promise<void> {
  const { nodes } = cluster;
  const live = (line: string) => narrator.live(line);
  narrator.step("install");
  await task.install(cluster, "--delivery-modes=Restart,CredentialProvider");
  narrator.claim("nothingYet", (await product.ourObjects(cluster)).length === 0);

  narrator.step("pods");
  const image = await cluster.pushApp("team/app:1");
  await task.startPods(cluster, "app", image);
  await task.untilPods(cluster, "app", ["ImagePullBackOff"], live);
  narrator.claim("refused", true, { image });

  narrator.step("created");
  const created = performance.now();
  await task.createSecret(cluster);
  await task.untilPods(cluster, "app", ["Running"], live);
  narrator.claim("running", true, { seconds: seconds(created) });
  narrator.writeLine((await product.rolledOut(cluster)).trim().split("\n").at(-1) ?? "");

  narrator.step("seen");
  await showPlugin(cluster, narrator, "wait", "--timeout", "60s");
  for (const command of task.sights) await show(cluster, narrator, ...command);
  await show(cluster, narrator, "get", "globalpullsecret", names.globalPullSecretName);
  await showPlugin(cluster, narrator, "status");
  await showPlugin(cluster, narrator, "nodes");
  await showPlugin(cluster, narrator, "explain", image);
  narrator.claim("neighbour", "elsewhere.example" in auths(nodes[0]));

  await showChange(cluster, narrator);
  await showDenied(cluster, narrator);

  narrator.step("badEdit");
  const served = await product.revision(cluster);
  const event = await task.writeInvalid(cluster);
  narrator.writeLine(`${event.type}  ${event.reason}  ${event.message}`);
  await show(cluster, narrator, "wait", "--for=condition=Stalled", object, "--timeout=60s");
  narrator.claim("lastGood", (await product.revision(cluster)) === served);

  await showJoiner(cluster, narrator);
  await showFailure(cluster, narrator);

  narrator.step("deleted");
  const deleted = performance.now();
  await task.remove(cluster, live);
  narrator.claim("gone", true, { seconds: seconds(deleted) });
  const [first, ...rest] = task.files(cluster);
  narrator.claim("sameBytes", first === task.others, { seen: first });
  narrator.claim(
    "noFile",
    rest.every((file) => file === undefined),
    { seen: rest.join() },
  );
  const traces = await task.traces(cluster);
  narrator.claim("noTrace", traces === "", { seen: traces });
}

async function show(
  cluster: Cluster,
  narrator: Narrator,
  ...command: readonly string[]
): Promise<void> {
  narrator.writeLine(`$ kubectl ${command.join(" ")}`);
  narrator.writeLine(await cluster.kubectl(...command));
}
