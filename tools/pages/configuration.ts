/** docs/configuration.md: policy, and the flags of the installer. */
import { usage } from "#controller/policy/flags/flags.ts";

/** The page of policy and flags; the flags are what the controller itself prints. */
export function configurationPage(): string {
  return `# Configuration

There is nothing to configure on nodes. **Policy** is the spec of GlobalPullSecret \`cluster\`, which the controller makes with its defaults where nobody has; it is in force
seconds after it is written, and what is read back is the whole of it:

\`\`\`sh
kubectl explain gps.spec --recursive
kubectl patch gps cluster --type=merge -p '{"spec":{"rollout":{"maxUnavailable":"25%"}}}'
\`\`\`

Deleting the object means the defaults after half a minute (in which it may be created again), and never a withdrawal: [its sources stay](sources.md) until another object names some. [What its status says](status.md).

## The installer's flags

What the object's editor must not decide (where the original is, host paths, units, the image) are flags of the controller. Set them as \`args\` of its
container, in a kustomization:

\`\`\`yaml
resources: [./manifests]
patches:
  - target: { kind: Deployment, name: global-pull-secret-controller }
    patch: |-
      - { op: add, path: /spec/template/spec/containers/0/args/-, value: --max-unavailable-limit=25% }
\`\`\`

\`\`\`
${usage().trimEnd()}
\`\`\`

What is wrong stops the controller at its start, with one line for each flag: its value, what is wrong, and what to give instead. A spec that asks for more than
\`--delivery-modes\` or \`--max-unavailable-limit\` allow is not followed: the policy stays as it was, and the object is Stalled, reason NotAllowed.

## The agents' pods

They run the controller's own image, by digest where the node's runtime tells one that every node can pull
([why](decisions/0031-agents-run-the-controllers-digest.md)), and are pulled with the image pull secrets of the controller's own pod: where both come from
a private registry, \`imagePullSecrets\` of the Deployment (or of its service account) is all that has to be given. Labels, annotations, resources,
PriorityClass and the nodes that get an agent are the installer's; what the product knows its pods by cannot be overwritten. A change of these replaces the
agents, restarts no kubelet and writes no file.

Nodes of virtual-kubelet and EKS Fargate get no agent: they have no kubelet of their own. \`--agent-node-selector\` names others instead, as
\`kubectl get nodes --selector\` does. A node that is left out while it has our entries keeps them: withdraw before, or take them out of its
\`config.json\` by hand.

## The original pull secret

Without \`--original\` each node's own \`config.json\` is the original: what it holds stays, and an additional entry for the same registry
displaces it until it is withdrawn. With \`--original NAMESPACE/NAME\` the controller merges that Secret with the additional one, so that its
rotation reaches the nodes too. It needs the right to read that Secret: \`manifests/components/original\` is a kustomize component that brings flag
and right for \`kube-system/pull-secret\`; copy it for another name.

## Conflicts and protection

Both have an entry for the same registry: the additional's is used, or the original's with \`conflictPolicy: PreferOriginal\`; a warning says so.
An additional entry that the kubelet tries *before* one of the original's (\`quay.io/team\` before \`quay.io\`) takes those images over; that is
allowed, with a warning. \`protectedRegistries: [quay.io]\`, and the installer's \`--protect quay.io\`, refuse every additional entry that would serve
images of that registry.

## Withdrawing

Deleting \`additional-pull-secret\` withdraws it: every node gives its entries back, then the objects go. It begins \`withdrawal.grace\` after the deletion, so
that a Secret that is deleted and created again (\`kubectl replace --force\`, another type) is one change. When a credential leaked, ask for haste, before or after:

\`\`\`
kubectl annotate gps cluster globalpullsecret.io/withdraw-now=true
\`\`\`

\`managementState: Withdrawn\` gives the nodes back in the same way and leaves your Secrets; \`Paused\` holds every change, a withdrawal included.

Nodes that are away then are waited for: the DaemonSet stays, for them alone, until they return and give back or are deleted, for \`withdrawal.forgetAfter\` at most.
Meanwhile no credential is left in the cluster ([why](decisions/0025-nodes-that-were-away-at-a-removal.md)).

## How fast, how careful

\`rollout.maxUnavailable\` is how many nodes may restart their kubelet at a time; the first node of a revision is always alone, unless it is \`100%\`.
\`rollout.probation\` is how long a restarted kubelet must stay well before the next node follows. Of a kubelet that dies more
than 4 s before its end no other node ever hears ([why](decisions/0006-when-an-agent-is-ready.md)). \`delivery.mode: Reread\` restarts nothing: the kubelet reads its
file again within five minutes.

A node that fails newly, beyond \`rollout.maxFailures\`, halts the revision: every node keeps what it has, and what halted is tried once more
after 10 minutes (doubling, 6 hours at most; [why](decisions/0022-a-halt-holds.md)). To try it at once, give this annotation another value:

\`\`\`sh
kubectl annotate gps cluster --overwrite globalpullsecret.io/retry="$(date +%s)"
\`\`\`

\`rollout.minInterval\` keeps a writer of the Secret from restarting kubelets all day: the next change's rollout begins so long after the one
before began. A removal, a repair and an asked-for retry do not wait.

## From version 0.1

Upgrades and downgrades replace the agents and restart no kubelet, in mid-rollout as well as at rest. Before a downgrade take out of the controller's
\`args\` what the older version does not know: it would stop with the flag's name, and the newer one go on beside it.

Policy's flags are fields of GlobalPullSecret since 0.2. One that is still given stops the new controller with the field's name, and the old one goes on beside it:

| 0.1 | 0.2 |
| --- | --- |
| \`--conflicts original\` | \`spec.conflictPolicy: PreferOriginal\` |
| \`--max-unavailable 25%\` | \`spec.rollout.maxUnavailable: 25%\` |
| \`--max-failures 2\` | \`spec.rollout.maxFailures: 2\` |
| \`--min-ready-seconds 5\` | \`spec.rollout.probation: 5s\` |
| \`--min-interval 10m\` | \`spec.rollout.minInterval: 10m\` |
| \`--restart Never\` | \`spec.delivery.mode: Reread\` |
| \`--removal-grace 30s\` | \`spec.withdrawal.grace: 30s\` |
| \`--drain-deadline 10m\` | \`spec.withdrawal.deadline: 10m\` |
| \`--forget-after 24h\` | \`spec.withdrawal.forgetAfter: 24h\` |
| annotations \`global-pull-secret/…\` | \`globalpullsecret.io/…\`; the old ones are read once, and never written |

## Two controllers

The Deployment has two replicas. Whoever holds the Lease \`global-pull-secret-controller\` writes; the other is Ready, says so on \`/readyz\`
(\`standby: NAME holds the Lease\`, metric \`global_pull_secret_leader\`), and takes over within seconds when the first one stops, or within 20 s when it dies
([why](decisions/0014-one-writer.md)). One replica works too; then delete the PodDisruptionBudget, which would hold up drains.

## Other people's admission

A policy or webhook that changes the agents' DaemonSet (image, tolerations, variables, volumes, labels) is heeded, and the log says once what it changed. What makes a
revision known and its rollout safe must arrive as declared, and so must what our Secrets and rights say: else nothing is written, and the log names the
field ([why](decisions/0015-drift-is-what-an-apply-would-change.md)).
`;
}
