/** `apply`: replaces the document of a source, and waits until the nodes have it. */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import { oneOf, toggle } from "#contract/values.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { judgeSecret, partsOf } from "#pullsecret/document/secret.ts";
import type { Entry } from "#pullsecret/document/parse.ts";
import { escape } from "#pullsecret/problems/keypath.ts";
import { problem } from "#pullsecret/problems/problems.ts";
import { clusterFlags, sourceFlag, timeoutFlag } from "../cluster/flags.ts";
import { peekObject, secretPath, sourceSecret, type SourceSecret } from "../cluster/object.ts";
import { differenceOf, type Difference } from "../document/difference.ts";
import { readSecret } from "../document/manifests.ts";
import { path } from "../document/operands.ts";
import {
  codedLine,
  examineWhole,
  misplaced,
  protectionOf,
  refusedFor,
} from "../document/verdict.ts";
import { refuseUnwritable, writeDocument } from "../document/write.ts";
import { agree, yesFlag } from "../terminal/confirm.ts";
import { command } from "../terminal/command.ts";
import { Refused, type ExitCode, type ScreenIo } from "../terminal/io.ts";
import { columns } from "../terminal/output.ts";
import { untilServed } from "./wait.ts";

/** The flags of every command that replaces a document. */
export const replacementFlags = {
  "dry-run": {
    read: oneOf("none", "client", "server"),
    standard: "none",
    what: "show the difference, and write nothing; with server, the API server judges, too",
  },
  "force-conflicts": { ...toggle, what: "take the document over from a tool that declares it" },
  wait: { ...toggle, standard: "true", what: "wait until the nodes have it; --wait=false if not" },
  ...timeoutFlag("10m"),
  ...yesFlag,
  ...sourceFlag,
  ...clusterFlags,
} as const;

export const apply = command(
  {
    group: "change",
    what: "replace the credentials with those of a file, and wait until the nodes have them",
    example: "-f pull-secret.json",
    more:
      "The file is a pull secret, or the manifest of the source's Secret, of which only the document\n" +
      "is used. Refuses it as check and the controller do. Shows which registries are added, changed\n" +
      "and removed, and asks before it removes any, or replaces a refused document. Then it writes\n" +
      "the Secret by server-side apply, under the field manager kubectl-pull-secret, and only if no\n" +
      "other client has changed it in the meantime. If a tool such as Argo CD or External Secrets\n" +
      "declares the document, nothing is written without --force-conflicts. At last it waits, as wait\n" +
      "does.",
    flags: {
      file: { read: path, required: true, short: "f", what: "the pull secret, or its manifest" },
      ...replacementFlags,
    },
  },
  async ({ file, source: name, ...how }, io) => {
    const secret = await readSecret(file, io);
    const cluster = await io.reach(how);
    const object = await peekObject(cluster);
    const source = sourceSecret(object, name);
    const elsewhere = misplaced(secret, source.secret);
    if (elsewhere !== undefined) throw refusedFor([elsewhere]);
    const protection = protectionOf(object);
    const { problems, warnings, entries } = examineWhole(secret, protection, source.secret);
    if (problems.length > 0) throw refusedFor(problems);
    for (const warning of warnings) io.err(codedLine(warning));
    const { document = new Uint8Array() } = secret;
    const live = await cluster.get<V1Secret>(secretPath(source.secret));
    return replaceDocument(cluster, { source, live, document, entries }, how, io);
  },
);

type Replacement = Readonly<{
  source: SourceSecret;
  /** The Secret as it was read. Undefined if it does not exist. */
  live: V1Secret | undefined;
  document: Uint8Array;
  /** The entries of the document. */
  entries: readonly Entry[];
  /** The question before any change. Without it, we ask only before a registry is removed. */
  question?: string;
}>;

type How = Readonly<{
  "dry-run": "none" | "client" | "server";
  "force-conflicts": boolean;
  wait: boolean;
  timeout: number;
  yes: boolean;
}>;

/**
 * Shows the difference, writes the document, and waits. Throws Refused and writes nothing if the
 * document would remove all registries, if the controller would refuse the Secret's type, or if
 * another client has changed the Secret.
 */
export async function replaceDocument(
  cluster: Cluster,
  { source: { source, secret }, live, document, entries, question }: Replacement,
  how: How,
  io: ScreenIo,
): Promise<ExitCode> {
  if (entries.length === 0) throw refusedFor([problem("noRegistries", secret, "auths")]);
  const name = { name: secret, role: "additional" } as const;
  if (live !== undefined) {
    const judged = judgeSecret({ ...partsOf(live), document }, name);
    if (!judged.ok) throw refusedFor(judged.problems);
  }
  const { "dry-run": dry, "force-conflicts": overTools, yes } = how;
  const isUnchanged = live !== undefined && isEqual(partsOf(live).document, document);
  if (!isUnchanged) refuseUnwritable({ secret, live, overTools });
  const before = live && judgeSecret(partsOf(live), name);
  const isRefused = before?.ok === false;
  if (isRefused)
    io.err(`${secret}: its present document is refused, so every registry counts as added`);
  const difference = differenceOf(before?.ok === true ? before.entries : [], entries);
  for (const line of linesOf(difference)) io.out(`${line}\n`);
  const ask = question ?? questionOf(difference, isRefused, secret, cluster);
  if (!isUnchanged && dry === "none" && ask !== undefined) await agree(yes, ask, io);
  const written =
    isUnchanged || dry === "client"
      ? live
      : await writeDocument(cluster, {
          secret,
          live,
          document,
          overTools,
          dryRun: dry === "server",
        }).catch(changedMeanwhile(secret));
  const did = isUnchanged ? "unchanged" : "applied";
  const note = dry === "none" ? "" : `, ${dry} dry run`;
  io.out(`${secret}: ${did} (registries: ${entries.length}${note})\n`);
  if (dry !== "none" || !how.wait) return 0;
  const present = [{ source, version: written?.metadata?.resourceVersion, named: true }];
  return untilServed(cluster, { timeout: how.timeout, present, notWithdrawn: true }, io);
}

/** Maximum number of registries to name in the question. */
const mostNamed = 5;

/**
 * The question before registries leave the nodes; undefined if none do. `isRefused`: we cannot
 * tell, because what is in force is not the Secret's present document.
 */
function questionOf(
  { removed }: Difference,
  isRefused: boolean,
  secret: string,
  { identity }: Cluster,
): string | undefined {
  if (isRefused) return `Replace what is in force of ${secret} on every node of ${identity}?`;
  if (removed.length === 0) return undefined;
  const count = `${removed.length} ${removed.length === 1 ? "registry" : "registries"}`;
  const more = removed.length > mostNamed ? ", …" : "";
  const names = `${removed.slice(0, mostNamed).join(", ")}${more}`;
  return `Remove ${count} (${names}) from every node of ${identity}?`;
}

const isEqual = (present: Uint8Array | undefined, document: Uint8Array): boolean =>
  present !== undefined && Buffer.compare(present, document) === 0;

const linesOf = (difference: Difference): readonly string[] =>
  columns(
    (["added", "changed", "removed"] as const).flatMap((what) =>
      difference[what].map((registry) => [what, escape(registry)]),
    ),
  );

const changedMeanwhile = (secret: string) => (error: unknown) => {
  if (!(error instanceof ApiError) || error.status !== 409) throw error;
  throw new Refused(
    `${secret}: another client has changed it since it was read; nothing is written: run this again`,
  );
};
