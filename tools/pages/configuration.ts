/** docs/reference/configuration.md: policy, and the flags of the installer. */
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

Deleting the object means the defaults after half a minute (in which it may be created again), and never a withdrawal: [its sources stay](../use/sources.md) until another object names some. [What its status says](../use/operate.md).

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
([why](../inside/decisions/image-digest.md)), and are pulled with the image pull secrets of the controller's own pod: where both come from
a private registry, \`imagePullSecrets\` of the Deployment (or of its service account) is all that has to be given. Labels, annotations, resources,
PriorityClass and the nodes that get an agent are the installer's; what the product knows its pods by cannot be overwritten. A change of these replaces the
agents' pods, at most \`maxUnavailable\` at a time. It restarts no kubelet and writes no file. \`kubectl rollout restart daemonset/global-pull-secret-syncer -n kube-system\`
does the same; \`kubectl rollout status\` does not work with this DaemonSet, because the controller replaces its pods itself.

Nodes of virtual-kubelet, KWOK, Liqo and EKS Fargate get no agent: they have no kubelet of their own. \`--agent-node-selector\` names others instead, as
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
images of that registry, unless it has the original's own credential. Name registries as images do: a path protects that path, and \`docker.io/nginx\`
protects \`docker.io/library/nginx\` too. What protects nothing is refused, such as \`*\`, \`registry.hub.docker.com\` or \`10.0.0.0/8\`.

## Withdrawing

Deleting \`additional-pull-secret\` withdraws it: every node gives its entries back, then the objects go. It begins \`withdrawal.grace\` after the deletion, so
that a Secret that is deleted and created again (\`kubectl replace --force\`, another type) is one change. When a credential leaked, ask for haste, before or after:

\`\`\`
kubectl annotate gps cluster globalpullsecret.io/withdraw-now=true
\`\`\`

\`managementState: Withdrawn\` gives the nodes back in the same way and leaves your Secrets; \`Paused\` holds every change of the Secrets and of \`spec\`, a withdrawal included. An upgrade of the product, or another configuration of the installer, is not held. If somebody deletes or edits
\`global-pull-secret\` during a pause, the controller publishes the same content again. If a change waits for the end of the pause, it publishes nothing until then. Nodes keep what they have. Nodes
that join get nothing from a deleted Secret; they take what they find in an edited one.

If a node is away, the withdrawal waits for it: the agents stay on every node until that node returns and restores its file, or its Node is deleted, for
\`withdrawal.forgetAfter\` at most. Meanwhile \`global-pull-secret\` contains no withdrawn credential ([why](../inside/decisions/pods-stay.md)).

## How fast, how careful

A rotation replaces no pod: it costs one write of a Secret, one small request for each node, and in mode \`Restart\` one kubelet restart for each node.

\`rollout.maxUnavailable\` is how many nodes may restart their kubelet at a time. The first node of a revision always goes alone, unless it is \`100%\`.
\`rollout.probation\` is how long a restarted kubelet must stay healthy before the next node follows ([why](../inside/decisions/restart-proof.md)). In the modes
\`Reread\` and \`CredentialProvider\` all other nodes change together after the first ([delivery](../use/delivery.md)).

A node that joins gets the content that is proved already, never the content of a rollout under way.

If more nodes fail than \`rollout.maxFailures\`, the revision halts: every node keeps what it has. The controller does not retry by itself
([why](../inside/decisions/pods-stay.md)). To end the halt, correct the Secret. If the nodes were at fault, repair them and request a retry, which begins on a node that
failed:

\`\`\`sh
kubectl pull-secret retry
# or, without the plugin: another value of this annotation
kubectl annotate gps cluster --overwrite globalpullsecret.io/retry="$(date +%s)"
\`\`\`

A node that dies in the middle of its change counts as failed, because the content may have broken it. At the default of \`rollout.maxFailures\`, 0, one such node halts the revision. On clusters whose
nodes come and go, such as spot instances, set \`maxFailures\` to \`5%\`, or to as many nodes as may die during a rollout. A percentage is rounded down, so that \`5%\` of fewer than 20 nodes allows none.

\`rollout.minInterval\` keeps a writer of the Secret from restarting kubelets all day: a revision is published so long after the one
before, at the earliest. The withdrawal of a source, a repair and a retry do not wait.

## From version 0.2

The upgrade replaces each agent's pod once, at most \`maxUnavailable\` at a time, and restarts no kubelet. After that, pods stay. The controller needs new rights
on pods (\`watch\`, \`patch\`, \`delete\`): apply the manifests of the new version as a whole. A halt of 0.2 is not continued: the content is published again, one node
first.

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
([why](../inside/decisions/one-writer.md)). One replica works too; then delete the PodDisruptionBudget, which would hold up drains.

## Other people's admission

A policy or webhook may add tolerations, proxies and emptyDirs to the agents' DaemonSet; the log reports once what it changed. It may set the image, labels and annotations that annotations of the controller's ServiceAccount name. Policies of ours deny the controller whatever else is changed in what it writes ([what they admit](../use/install.md#what-the-controllers-account-may-do)). Fields of the DaemonSet that the
product does not declare are left to other clients. What lets an agent find and prove its grant must arrive as declared, and so must our Secrets and rights. Otherwise
the controller writes nothing, and the log names the field ([why](../inside/decisions/drift.md)). If a policy refuses the patch of an agent's
pod for a minute, that node is excused, with the reason in \`status.failures\`.
`;
}
