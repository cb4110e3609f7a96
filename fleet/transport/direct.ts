/** `via: Direct`: places the Secret in the cluster itself. Pure. */
import { globalPullSecretName, namespace } from "#contract/names.ts";
import { collections } from "#kube/client/paths.ts";
import { sentence } from "../rules/problems.ts";
import { keptProof } from "./excerpt.ts";
import { proofOf, type Proof } from "./proof.ts";
import { secretAt, type NamespacedName, type Seen, type Transport } from "./transport.ts";

/** Name of the only target that a cluster's own GlobalPullSecret can use as a source. */
const handedOver = "fleet-pull-secret";

/**
 * The transport for `via: Direct`. A cluster is done when we have read the Secret back. But if the
 * cluster's own GlobalPullSecret uses the Secret, the cluster is done when its nodes have the
 * Secret.
 */
export function direct(target: NamespacedName): Transport {
  const placed = [secretAt(target)];
  if (target.namespace !== namespace || target.name !== handedOver)
    return { placed, proof: () => ({ is: "unasked" }) };
  return {
    placed,
    witness: {
      collection: collections.globalPullSecrets,
      name: globalPullSecretName,
      keep: keptProof,
    },
    proof: ([secret], witness) =>
      proofBy(witness, target.name, secret?.metadata?.resourceVersion ?? ""),
  };
}

function proofBy(witness: Seen | undefined, name: string, version: string): Proof {
  if (witness === undefined || witness.is === "unknown")
    return { is: "awaited", why: sentence("awaited", "NotAsked") };
  if (witness.is === "refused") return refusedBy(witness, name);
  const proof = proofOf(witness.object, name, version);
  const { failing } = witness;
  // While reads of the GlobalPullSecret fail, the last version that we read might be outdated. We
  // use this version only if it proves or refuses the Secret.
  const stale = failing !== undefined && proof.is !== "proved" && proof.is !== "refused";
  return stale ? { is: "held", why: sentence("witnessFails", failing) } : proof;
}

function refusedBy({ status, why }: Seen & { is: "refused" }, name: string): Proof {
  if (status === 404) return { is: "held", why: sentence("notListed", name) };
  return { is: "held", why: sentence(status === 403 ? "witness" : "witnessFails", why) };
}
