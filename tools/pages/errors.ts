/** docs/reference/errors.md: every code of every catalogue, each with an anchor. */
import type { Catalogue } from "#contract/catalogue.ts";
import { catalogue as agent } from "#contract/agent-codes.ts";
import { catalogue as unservedNodes } from "#contract/node-codes.ts";
import { catalogue as controller } from "#controller/sources/problems.ts";
import { catalogue as fleet } from "#fleet/rules/problems.ts";
import { catalogue as kubeconfigs } from "#kube/kubeconfig/problems.ts";
import { catalogue as documents } from "#pullsecret/problems/problems.ts";
import { catalogue as sync } from "#tenants/rules/problems.ts";
import { alternatives, byItself, general } from "./codes/by-itself.ts";
import { examples } from "./codes/examples.ts";
import { meanings } from "./codes/meanings.ts";

type Section = Readonly<{
  title: string;
  lead: string;
  /** Where a person sees a code of this section. */
  seen: string;
  catalogue: Catalogue;
  /** The product's own action for a code of this section, if the code has no other. */
  usual: string;
  /** A person's action, if the code has no other. */
  todo?: string;
}>;

/** The codes of the catalogue for which `fits` returns true. */
const only = (catalogue: Catalogue, fits: (code: string) => boolean): Catalogue =>
  Object.fromEntries(Object.entries(catalogue).filter(([, [code]]) => fits(code)));

const seenInDocuments = "`kubectl pull-secret status`, and `kubectl pull-secret check` for a file";

/** The codes of every program, and of their inputs. */
export const sections: readonly Section[] = [
  {
    title: "Pull secrets",
    lead: "Found by the controller (Events on `additional-pull-secret`) and by `kubectl pull-secret`. One bad entry would make the kubelet drop the whole file. Other sources stay in use.",
    seen: seenInDocuments,
    catalogue: only(documents, (code) => code < "GPS150"),
    usual: general.refused,
  },
  {
    title: "Warnings about pull secrets",
    lead: "Found as the codes above.",
    seen: "the Event `AcceptedWithWarnings`, the controller's log, and `kubectl pull-secret check` for a file",
    catalogue: only(documents, (code) => code >= "GPS150"),
    usual: general.warning,
  },
  {
    title: "Agents",
    lead: `Found by the agent of a node: in its log, and, if the code explains a result, in the node's [NodePullSecret](nodepullsecret.md).`,
    seen: "`kubectl pull-secret nodes`, and the log of the agent's pod",
    catalogue: agent,
    usual: general.agent,
    todo: "No action needed.",
  },
  {
    title: "Controller",
    lead: `Found by the controller, in Events, in conditions and in its log.`,
    seen: "`kubectl pull-secret status`, or `kubectl get events -n kube-system`",
    catalogue: { ...controller, ...unservedNodes },
    usual: general.controller,
  },
  {
    title: "Kubeconfigs",
    lead: `Found in a kubeconfig that is read as data, such as that of a guest cluster.`,
    seen: "the status of the object that names the kubeconfig, or the controller's log",
    catalogue: kubeconfigs,
    usual: general.kubeconfig,
    todo: "Give a token, or a client certificate and its key.",
  },
  {
    title: "Fleet",
    lead: `Found in the status of a FleetSecret.`,
    seen: "`kubectl pull-secret fleet status`",
    catalogue: fleet,
    usual: general.fleet,
  },
  {
    title: "SyncSecrets",
    lead: `Found in the status of a SyncSecret, and in the log of the program that found it. \`kubectl get syncsecrets -A\` shows which SyncSecrets are not Ready; [these commands](../extend/tenants.md#when-something-is-wrong) print the code of each.`,
    seen: "`kubectl get syncsecrets -A -o yaml`",
    catalogue: sync,
    usual: general.tenant,
  },
];

/** The page has a section for each catalogue, and in it a section for each code. */
export function errorsPage(): string {
  const parts = [
    `# Every code\n\nAfter this page you know what a code means, what happens next without you, and what you can do. \`kubectl pull-secret help GPS218\` prints the same on a terminal. A title is the text of the message, such as \`GPS115 additional: auths["quay.io"].auth: not base64\`. \`…\` stands for a detail as in the example, which is never a credential. If you know no code, begin with [troubleshooting](../use/troubleshoot.md).`,
    ...sections.flatMap(partsOf),
  ];
  return `${parts.join("\n\n")}\n`;
}

function partsOf(section: Section): string[] {
  const rows = Object.values(section.catalogue).toSorted(([a], [b]) => a.localeCompare(b));
  const { title, lead, seen, usual, todo } = section;
  const usually = [
    "Unless a code states another:",
    `**See**: ${seen}.`,
    `**Next**: ${usual}`,
    ...(todo === undefined ? [] : [`**Do**: ${todo}`]),
  ];
  return [`## ${title}`, lead, ...usually, ...rows.map((row) => entry(section, row))];
}

/**
 * A title, an example of its details, and what is unusual: what happens next, and what to do. A
 * message links to the code alone, so the heading has an anchor of its own before the title.
 */
function entry(section: Section, [code, what, then]: Catalogue[string]): string {
  const meaning = (what === "{}" ? meanings[code] : escaped(what)) ?? "";
  const [, title, rest] = /^(.+?)(?:\. ([A-Z].*)|\.?)$/s.exec(meaning) ?? [];
  const details = examples[code]?.map((detail) => `\`${detail}\``).join(", ");
  const [next, todo] = section.catalogue === agent ? actionsOf(then) : [undefined, sentence(then)];
  const advice = [todo, alternatives[code]].filter(Boolean).join(" ");
  const paragraphs = {
    Example: details,
    Next: byItself[code] ?? next,
    Do: advice === section.todo ? "" : advice,
  };
  return [
    `### <a id="${code.toLowerCase()}"></a>${code}: ${title}`,
    ...(rest === undefined ? [] : [rest]),
    ...Object.entries(paragraphs).flatMap(([label, text]) => (text ? `**${label}**: ${text}` : [])),
  ].join("\n\n");
}

/** An agent's text: its own action, unless nothing changes, and a person's action, if any. */
function actionsOf(then: string): readonly [next: string | undefined, todo: string] {
  const [own = "", ...person] = then.split("; ");
  const next = own === "nothing changes" ? undefined : sentence(own);
  return [next, person.length === 0 ? "" : sentence(person.join("; "))];
}

/** A catalogue's text as a sentence. Names of fields and commands keep their first letter. */
function sentence(words: string): string {
  const text = escaped(words)
    .replace(/^[a-z](?!\w*[.(]|ubectl\b|ystemd\b)/, (first) => first.toUpperCase())
    .replace(/(?<=\(page )[^)]+/, (page) => `[${page}](${linked[page] ?? ""})`);
  return /[.…]$/.test(text) ? text : `${text}.`;
}

/** The pages that catalogues name. */
const linked: Readonly<Record<string, string>> = {
  "Hosted control planes": "../extend/hosted.md",
  "Let containerd use the credential": "../use/delivery-runtime.md",
  "Prepare nodes for a credential provider": "../use/delivery-node.md",
};

/** A catalogue's text. Escapes what looks like markup. */
const escaped = (words: string): string =>
  words.replaceAll("{}", "…").replaceAll(/[<>*_\\]/g, String.raw`\$&`);
