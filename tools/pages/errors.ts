/** docs/reference/errors.md: every code of every catalogue, each with an anchor. */
import type { Catalogue } from "#contract/catalogue.ts";
import { catalogue as agent, type AgentCode } from "#contract/agent-codes.ts";
import { catalogue as unservedNodes } from "#contract/node-codes.ts";
import { catalogue as controller } from "#controller/sources/problems.ts";
import { catalogue as fleet } from "#fleet/rules/problems.ts";
import { catalogue as kubeconfigs } from "#kube/kubeconfig/problems.ts";
import { catalogue as documents } from "#pullsecret/problems/problems.ts";
import { catalogue as sync } from "#tenants/rules/problems.ts";
import { ofAgents } from "./codes/agents.ts";
import { alternatives, general, ofPrograms } from "./codes/by-itself.ts";
import { examples, keyPaths } from "./codes/examples.ts";
import { meanings } from "./codes/meanings.ts";

type Section = Readonly<{
  title: string;
  lead: string;
  /** Where a person sees a code of this section. */
  seen: string;
  /** What a message names between the code and the problem. */
  place: (code: string) => string;
  catalogue: Catalogue;
  /** The product's own action for a code of this section, if `byItself` has no other. */
  usual: string;
  byItself: Readonly<Record<string, string>>;
}>;

/** The codes of the catalogue for which `fits` returns true. */
const only = (catalogue: Catalogue, fits: (code: string) => boolean): Catalogue =>
  Object.fromEntries(Object.entries(catalogue).filter(([, [code]]) => fits(code)));

const ofDocuments = {
  seen: "`kubectl pull-secret status`, and `kubectl pull-secret check` for a file",
  place: (code) => `additional: ${keyPaths[code] ?? 'auths["quay.io"]'}: `,
  byItself: ofPrograms,
} satisfies Partial<Section>;

/** The codes of every program, and of their inputs. */
export const sections: readonly Section[] = [
  {
    title: "Pull secrets",
    lead: "Found by the controller (Events on `additional-pull-secret`) and by `kubectl pull-secret`. One bad entry would make the kubelet drop the whole file. Other sources stay in use. `kubectl pull-secret check` ends with exit code 1.",
    ...ofDocuments,
    catalogue: only(documents, (code) => code < "GPS150"),
    usual: general.refused,
  },
  {
    title: "Warnings about pull secrets",
    lead: "Found as the codes above. The Event `AcceptedWithWarnings` reports them.",
    ...ofDocuments,
    catalogue: only(documents, (code) => code >= "GPS150"),
    usual: general.warning,
  },
  {
    title: "Agents",
    lead: `Found by the agent of a node: in its log, and, if the code explains a result, in the node's [NodePullSecret](nodepullsecret.md). \`kubectl pull-secret nodes\` shows these codes.`,
    seen: "`kubectl pull-secret nodes`, and the log of the agent's pod",
    place: () => "",
    catalogue: agent,
    usual: general.agent,
    byItself: Object.fromEntries(Object.entries(ofAgents).map(([code, [next]]) => [code, next])),
  },
  {
    title: "Controller",
    lead: `Found by the controller, in Events, in conditions and in its log.`,
    seen: "`kubectl pull-secret status`",
    place: () => "",
    catalogue: { ...controller, ...unservedNodes },
    usual: general.controller,
    byItself: ofPrograms,
  },
  {
    title: "Kubeconfigs",
    lead: `Found in a kubeconfig that is read as data, such as that of a guest cluster.`,
    seen: "the status of the object that names the kubeconfig, or the controller's log",
    place: () => "kubeconfig: ",
    catalogue: kubeconfigs,
    usual: general.kubeconfig,
    byItself: {},
  },
  {
    title: "Fleet",
    lead: `Found in the status of a FleetSecret. \`kubectl pull-secret fleet status\` lists the codes, each with its cluster.`,
    seen: "`kubectl pull-secret fleet status`",
    place: () => "",
    catalogue: fleet,
    usual: general.fleet,
    byItself: ofPrograms,
  },
  {
    title: "SyncSecrets",
    lead: `Found in the status of a SyncSecret, and in the log of the program that found it. \`kubectl get syncsecrets -A\` shows which SyncSecrets are not Ready; [these commands](../extend/tenants.md#when-something-is-wrong) print the code of each.`,
    seen: "`kubectl get syncsecrets -A -o yaml`",
    place: () => "",
    catalogue: sync,
    usual: general.tenant,
    byItself: ofPrograms,
  },
];

/** The page has a section for each catalogue, and in it a section for each code. */
export function errorsPage(): string {
  const parts = [
    `# Every code\n\nAfter this page you know what a code means, what happens next without you, and what you can do. \`kubectl pull-secret help GPS218\` prints the same on a terminal. \`…\` stands for a detail, which is never a credential. If you know no code, begin with [troubleshooting](../use/troubleshoot.md).`,
    sections
      .map(({ title }) => `[${title}](#${title.toLowerCase().replaceAll(" ", "-")})`)
      .join(" · "),
    ...sections.flatMap(partsOf),
  ];
  return `${parts.join("\n\n")}\n`;
}

function partsOf(section: Section): string[] {
  const rows = Object.values(section.catalogue).toSorted(([a], [b]) => a.localeCompare(b));
  const { title, lead, seen, usual } = section;
  const usually = `Unless a code states another:\n\n**See**: ${seen}.\n\n**Next**: ${usual}`;
  return [`## ${title}\n\n${lead}\n\n${usually}`].concat(rows.map((row) => entry(section, row)));
}

/**
 * A title, an example, what happens next if it is unusual, and what to do. A message links to the
 * code alone, so the heading has an anchor of its own before the title. `todo`: the catalogue's
 * instruction, used for codes without an instruction in agents.ts.
 */
function entry({ place, usual, byItself }: Section, [code, what, todo]: Catalogue[string]): string {
  const you = Object.hasOwn(ofAgents, code) ? ofAgents[code as AgentCode][1] : sentence(todo);
  const meaning = (what === "{}" ? meanings[code] : escaped(what)) ?? "";
  const [, title, rest] = /^(.+?)(?:\. ([A-Z].*)|\.?)$/s.exec(meaning) ?? [];
  const next = byItself[code] ?? usual;
  const details = [...(examples[code] ?? [])];
  const example = what.replaceAll("{}", () => details.shift() ?? "…");
  return [
    `### <a id="${code.toLowerCase()}"></a>${code}: ${title}`,
    ...(rest === undefined ? [] : [rest]),
    `**Example**: \`${code} ${place(code)}${example}\``,
    ...(next === usual ? [] : [`**Next**: ${next}`]),
    `**Do**: ${[you, alternatives[code]].filter(Boolean).join(" ")}`,
  ].join("\n\n");
}

/** A catalogue's text as a sentence. Names of fields and commands keep their first letter. */
function sentence(words: string): string {
  const text = escaped(words).replace(/^[a-z](?!\w*[.(]|ubectl\b)/, (first) => first.toUpperCase());
  return /[.…]$/.test(text) ? text : `${text}.`;
}

/** A catalogue's text. Escapes what looks like markup. */
const escaped = (words: string): string =>
  words.replaceAll("{}", "…").replaceAll(/[<>*_\\]/g, String.raw`\$&`);
