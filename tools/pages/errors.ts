/** docs/reference/errors.md: every code of every catalogue, each with an anchor. */
import type { Catalogue } from "#contract/catalogue.ts";
import { catalogue as agent, type AgentCode } from "#contract/agent-codes.ts";
import { catalogue as unservedNodes } from "#contract/node-codes.ts";
import { catalogue as controller } from "#controller/sources/problems.ts";
import { catalogue as fleet } from "#fleet/rules/problems.ts";
import { catalogue as kubeconfigs } from "#kube/kubeconfig/problems.ts";
import { catalogue as documents } from "#pullsecret/problems/problems.ts";
import { catalogue as sync } from "#tenants/rules/problems.ts";
import { noAction, ofAgents } from "./codes/agents.ts";
import { general, ofPrograms } from "./codes/by-itself.ts";
import { meanings } from "./codes/meanings.ts";

type Section = Readonly<{
  title: string;
  lead: string;
  catalogue: Catalogue;
  /** The product's own action for a code of this section; undefined: `lead` states it. */
  byItself: (code: string) => string | undefined;
}>;

/** The codes of every program, and of their inputs. */
export const sections: readonly Section[] = [
  {
    title: "Pull secrets",
    lead: `Found by the controller (Events on \`additional-pull-secret\`) and by \`kubectl pull-secret\`.

- Codes below 150: ${general.refused} One bad entry would make the kubelet drop the whole file. Other sources stay in use. \`kubectl pull-secret status\` shows the code, and \`kubectl pull-secret check\` ends with exit code 1.
- Codes from 150 on are warnings: ${general.warning} The Event \`AcceptedWithWarnings\` reports them.`,
    catalogue: documents,
    byItself: (code) => ofPrograms[code],
  },
  {
    title: "Agents",
    lead: `Found by the agent of a node: in its log, and, if the code explains a result, in the node's [NodePullSecret](nodepullsecret.md). \`kubectl pull-secret nodes\` shows these codes. ${general.agent}`,
    catalogue: agent,
    byItself: (code) => unlessGeneral(ofAgents[code as AgentCode][0], general.agent),
  },
  {
    title: "Controller",
    lead: `Found by the controller, in Events, in conditions and in its log. ${general.controller}`,
    catalogue: { ...controller, ...unservedNodes },
    byItself: (code) => ofPrograms[code],
  },
  {
    title: "Kubeconfigs",
    lead: `Found in a kubeconfig that is read as data, such as that of a guest cluster. ${general.kubeconfig}`,
    catalogue: kubeconfigs,
    byItself: () => undefined,
  },
  {
    title: "Fleet",
    lead: `Found in the status of a FleetSecret. \`kubectl pull-secret fleet status\` lists the codes, each with its cluster. ${general.fleet}`,
    catalogue: fleet,
    byItself: (code) => ofPrograms[code],
  },
  {
    title: "SyncSecrets",
    lead: `Found in the status of a SyncSecret, and in the log of the program that found it. \`kubectl get syncsecrets -A\` shows which SyncSecrets are not Ready; [these commands](../extend/tenants.md#when-something-is-wrong) print the code of each. ${general.tenant}`,
    catalogue: sync,
    byItself: (code) => ofPrograms[code],
  },
];

const unlessGeneral = (action: string, rule: string) => (action === rule ? undefined : action);

/** The page has a section for each catalogue, and in it a section for each code. */
export function errorsPage(): string {
  const parts = [
    `# Every code\n\nAfter this page you know what a code means, what the product does by itself, and what you can do. \`…\` stands for a detail, which is never a credential. Each section begins with what the product does by itself; **By itself** names what a single code adds or changes. The text without a label is what you can do; if there is none, no action is needed. If you know no code, begin with [troubleshooting](../use/troubleshoot.md).`,
    sections
      .map(({ title }) => `[${title}](#${title.toLowerCase().replace(" ", "-")})`)
      .join(" · "),
    ...sections.flatMap(partsOf),
  ];
  return `${parts.join("\n\n")}\n`;
}

function partsOf({ title, lead, catalogue, byItself }: Section): string[] {
  const rows = Object.values(catalogue).toSorted(([a], [b]) => a.localeCompare(b));
  const entries = rows.map(([code, what, todo]) => entry(code, what, byItself(code), todo));
  return [`## ${title}\n\n${lead}`].concat(entries);
}

/**
 * A message links to the code alone, so the heading has an anchor of its own before the title.
 * `todo`: the catalogue's instruction, used for codes without an instruction in agents.ts.
 */
function entry(code: string, what: string, byItself: string | undefined, todo: string): string {
  const you = Object.hasOwn(ofAgents, code) ? ofAgents[code as AgentCode][1] : sentence(todo);
  const meaning = (what === "{}" ? meanings[code] : escaped(what)) ?? "";
  const [, title, rest] = /^(.+?)(?:\. ([A-Z].*)|\.?)$/s.exec(meaning) ?? [];
  const parts = [`### <a id="${code.toLowerCase()}"></a>${code}: ${title}`];
  if (rest !== undefined) parts.push(rest);
  if (byItself !== undefined) parts.push(`**By itself**: ${byItself}`);
  if (you !== noAction) parts.push(you);
  return parts.join("\n\n");
}

/** A catalogue's text as a sentence. Names of fields and commands keep their first letter. */
function sentence(words: string): string {
  const text = escaped(words).replace(/^[a-z](?!\w*[.(]|ubectl\b)/, (first) => first.toUpperCase());
  return /[.…]$/.test(text) ? text : `${text}.`;
}

/** A catalogue's text. Escapes what looks like markup. */
const escaped = (words: string): string =>
  words.replaceAll("{}", "…").replaceAll(/[<>*_\\]/g, String.raw`\$&`);
