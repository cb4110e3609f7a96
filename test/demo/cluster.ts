/** The demo on a real cluster of two nodes. */
import { bundle } from "#tools/build/bundle.ts";
import { removeCluster, startCluster, type Cluster } from "../cluster/cluster.ts";
import { allStates, isLeftover } from "../cluster/host/state.ts";
import { installPackages } from "../cluster/kit/debian.ts";
import { olderWorkAhead, releases } from "../cluster/kit/kubernetes.ts";
import { workAhead } from "../cluster/kit/parts.ts";
import { useKubernetes } from "../cluster/setup.ts";
import { Narrator, Refused } from "./narrator.ts";
import { showOffline } from "./offline.ts";
import { showRotation } from "./rotation.ts";
import { scripts } from "./script.ts";
import { runStory } from "./story.ts";

const clusterName = "demo";

type Flags = Readonly<{ keep?: boolean; down?: boolean; kubernetes?: string }>;

/** Throws ClaimFailed at the first claim that does not hold, or Refused before it begins. */
export async function showCluster({
  keep = false,
  down = false,
  kubernetes,
}: Flags): Promise<void> {
  if (down) {
    const isRemoved = removeCluster(clusterName);
    return say(isRemoved ? "the demo's cluster is removed" : "there is no demo cluster");
  }
  if (allStates().some((state) => state.name === clusterName && !isLeftover(state)))
    throw new Refused("the demo's cluster runs; remove it: npm run demo -- --cluster --down");
  const narrator = new Narrator(process.stdout, scripts.cluster);
  if (kubernetes !== undefined) {
    if (!Object.hasOwn(releases, kubernetes))
      throw new Refused(
        `Kubernetes ${kubernetes}: choose one of ${Object.keys(releases).join(", ")}`,
      );
    useKubernetes(kubernetes);
  }
  await installPackages().catch((error: Error) => {
    throw new Refused(error.message);
  });
  say(await estimate(kubernetes));
  showOffline(narrator);
  let cluster: Cluster | undefined;
  try {
    narrator.step("nodes");
    cluster = await startCluster({ name: clusterName, keep });
    narrator.writeLine(await cluster.kubectl("get", "nodes"));
    await runStory(cluster, narrator);
    await showRotation(cluster, narrator);
    narrator.end();
  } finally {
    if (!keep) cluster?.down();
    else if (cluster !== undefined) {
      say(`The cluster stays up:  export KUBECONFIG=${cluster.kubeconfig}`);
      say("Remove it with:        npm run demo -- --cluster --down");
    }
  }
}

/** Seconds that bundling takes on two idle cores, where the demo takes these minutes. */
const usual = { bundling: 2, demo: 3, compiling: 6 };

/**
 * Bundles the programs, and computes from the time how long the demo takes on this machine. The
 * bundler is a Go program that uses all cores, as the compiler does.
 */
async function estimate(kubernetes?: string): Promise<string> {
  const begun = performance.now();
  await bundle();
  const slowness = (performance.now() - begun) / 1000 / usual.bundling;
  const ahead = workAhead() + (kubernetes === undefined ? 0 : olderWorkAhead(kubernetes));
  // The demo itself mostly waits for kubelets.
  const minutes = usual.demo * Math.max(1, slowness / 2) + ahead * usual.compiling * slowness;
  const why = ahead === 0 ? "" : ", because Kubernetes is compiled first, once";
  return `This takes about ${Math.ceil(minutes)} minutes on this machine${why}.`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
