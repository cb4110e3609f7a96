/** For each code of the agent: the agent's own action, and the action for a person. */
import type { AgentCode } from "#contract/agent-codes.ts";
import { general } from "./by-itself.ts";

/** No action for a person. */
const none = "No action needed.";
const longer = (what: string) => `If this state lasts, ${what}`;
const untouched = general.agent;

export const ofAgents: Readonly<Record<AgentCode, readonly [byItself: string, you: string]>> = {
  GPS200: ["The agent watches the file, and repairs it.", none],
  GPS201: ["The agent waits for an order of the controller.", none],
  GPS202: [
    "The agent waits for the whole Secret.",
    longer("read the log of the controller, and the Events of the agent's pod."),
  ],
  GPS203: [
    "The agent waits for this content, or for a newer order.",
    longer("look for GPS263 in the agent's log."),
  ],
  GPS204: [
    untouched,
    "Do not edit `global-pull-secret`. The controller writes the Secret again. If it does not, read its log.",
  ],
  GPS205: [
    "The agent touches nothing until the other agent has ended.",
    longer("find the second agent: `kubectl get pods -n kube-system -o wide`."),
  ],
  GPS206: [
    untouched,
    "Read the detail in the message. Make `config.json` a regular file, and `pull-secret-provider` a directory that root can read.",
  ],
  GPS207: [
    "The agent acts if this lasts for 2 s. A missing file then counts as deleted by its owner. An unreadable file leads to GPS269.",
    longer("find the program that writes the file."),
  ],
  GPS208: [
    "The agent tries again, at most every 30 s.",
    longer(
      "check the disk of the node: is it full, or read-only? Is `config.json` a separate mount?",
    ),
  ],
  GPS209: ["The agent reads the file again.", none],
  GPS210: [
    "The agent changes nothing and asks again, at most every 30 s.",
    longer("check systemd on the node. If the node has no systemd, set mode `Reread`."),
  ],
  GPS211: [untouched, "Set `--kubelet-unit` to the kubelet's unit."],
  GPS212: ["The agent restarts the kubelet.", none],
  GPS213: ["The agent waits for a new process that answers healthz.", none],
  GPS214: [
    "Either systemd starts it again, or the agent, once the unit's start limit interval has passed since the last start.",
    none,
  ],
  GPS215: ["The agent watches the new kubelet for the probation (5 s by default).", none],
  GPS216: ["The agent restores the former content.", none],
  GPS217: ["The agent starts the kubelet.", none],
  GPS218: [
    "The kubelet runs with the former content. The agent reports Failed, and does not try the revision again for the same order.",
    "Read the kubelet's log (`journalctl -u kubelet`). Correct the Secret or the node, then run `kubectl pull-secret retry`.",
  ],
  GPS220: [
    "The agent starts the kubelet again, in pauses that grow to 15 minutes.",
    "Repair the kubelet. It does not start with the former content either, so the new credential is not the cause. Read `journalctl -u kubelet`.",
  ],
  GPS221: [
    "The agent starts no change until healthz answers. If no process listens at the port, the node's Lease counts instead.",
    "Check that the kubelet works, and `--healthz-port` [with its annotation](../use/install.md#what-the-controllers-account-may-do).",
  ],
  GPS222: [untouched, "Deploy that version again, withdraw, and then change the version."],
  GPS223: [
    "The agent removes the journal and all kept copies of `config.json`. Entries with a credential that we publish, or ever published, count as ours. The entries that ours replaced are still in `global-pull-secret/theirs-…`, unless this file is damaged, too.",
    "Check the disk of the node. Add entries that ours had replaced, if they are needed after a withdrawal.",
  ],
  GPS224: ["The agent has removed our entries and its folder.", none],
  GPS225: [
    "The agent restores them without a kubelet restart.",
    longer("find the program that changes `config.json`."),
  ],
  GPS226: ["The agent stages the files, reads them back and renames them.", none],
  GPS227: ["The next agent continues from the journal.", none],
  GPS228: [
    "The agent tries again, at most every 30 s.",
    longer("report it with `kubectl pull-secret support-bundle`."),
  ],
  GPS229: [
    untouched,
    "Set `--kubelet-unit` to the kubelet's unit, or set `spec.delivery.mode: Reread`, which needs no unit.",
  ],
  GPS230: [untouched, "Start the unit. If the kubelet has another unit, set `--kubelet-unit`."],
  GPS231: [untouched, "Update systemd, or set `spec.delivery.mode: Reread`."],
  GPS235: [
    untouched,
    "Install the kubelet's flags, script and configuration. The page [Prepare nodes for a credential provider](../use/delivery-node.md) shows them.",
  ],
  GPS236: [
    untouched,
    "Read the detail in the message. Set `config_path` in containerd's configuration and restart containerd. The page [Let containerd use the credential](../use/delivery-runtime.md) shows how.",
  ],
  GPS242: ["The agent checks the files every 30 s.", none],
  GPS254: ["The agent reports Proved after that.", none],
  GPS259: [
    "A kubelet that runs rereads `config.json` within five minutes. A kubelet that is dead gets another request; the third failed attempt restores the former content.",
    "Allow root to restart the unit (SELinux, `RefuseManualStop`), or set `spec.delivery.mode: Reread`.",
  ],
  GPS260: [
    "The agent writes the journal again from memory.",
    longer("find the program that deletes files below the kubelet's directory."),
  ],
  GPS261: [
    untouched,
    "If any node has our credentials, [withdraw them](../use/configure.md#withdraw) first, because agents remove entries only below `--kubelet-directory`. Then set this flag to the kubelet's `--root-dir`; the message shows where the kubelet has its pods. Replace a link that the message names by a bind mount. A withdrawal waits for this node. If the node never had our credentials, leave the node out with `--agent-node-selector`.",
  ],
  GPS262: [
    untouched,
    "Set `spec.delivery.mode: Reread`, or leave the node out with `--agent-node-selector`.",
  ],
  GPS263: [
    "The agent keeps and repairs what the node has, and reports later. A new node takes the served content from the mounted Secret.",
    longer(
      "find out why pods on this node do not reach the API server: its address in the agent's log, network policies, kube-proxy.",
    ),
  ],
  GPS264: [
    "The agent asks again with the newest token that the kubelet has mounted.",
    longer("delete the agent's pod. Its next pod gets another token."),
  ],
  GPS265: [
    "The agent asks again. A refusal just after the start of an API server ends by itself.",
    longer(
      "check that the controller runs, because it writes the agents' Role, and that the node's name in the token is right: `kubectl describe validatingadmissionpolicy global-pull-secret-nodes`.",
    ),
  ],
  GPS266: [
    "The agent reports once the controller has created the object.",
    longer("check that the controller runs."),
  ],
  GPS267: [
    "The agent waits with its report Proved.",
    longer("read `journalctl -u kubelet`: the kubelet runs, but does not reach the API server."),
  ],
  GPS268: ["The agent keeps the change, also when our entries leave.", none],
  GPS269: [
    "The agent keeps the bytes as `global-pull-secret/unreadable-…` beside the file: the last three, until a credential in them leaves. Bytes with a credential that leaves at once are not kept. It writes the last readable entries of all programs back.",
    "Compare the kept bytes with `config.json`, and add what is missing.",
  ],
  GPS270: [
    "The journal was lost, or another program restored an old copy of the file. Credentials that we publish, or ever published, count as ours. They leave with the next change, or at once if the newest content lacks their registry.",
    "If the node needs one of these credentials for itself, add it again under another user or token.",
  ],
  GPS271: [
    "The agent waits, however long the kubelet needs. It does not restart a living process.",
    "Read `journalctl -u` with the name of the kubelet's unit.",
  ],
  GPS272: [
    "No answer of that process counts. The agent starts no change until only root listens at the port, unless the kubelet renews the node's Lease. After a restart, the kubelet has to run for four minutes.",
    "Find the process with `ss -ltnp`, and end it.",
  ],
};
