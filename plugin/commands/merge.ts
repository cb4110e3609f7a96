/** `merge`: merges two files into the document that nodes get. */
import type { Rule } from "#contract/flags.ts";
import type { Table } from "#contract/table.ts";
import { oneOf, toggle } from "#contract/values.ts";
import { judgeSecret } from "#pullsecret/document/secret.ts";
import { joinSources } from "#pullsecret/merge/join.ts";
import type { MergeSource } from "#pullsecret/merge/offer.ts";
import { protectable } from "#pullsecret/merge/protect.ts";
import type { Problem } from "#pullsecret/problems/problems.ts";
import { readSecret } from "../document/manifests.ts";
import { path } from "../document/operands.ts";
import { codedLine, misplaced, refusedFor } from "../document/verdict.ts";
import { command } from "../terminal/command.ts";

const flags = {
  original: { read: path, what: "the pull secret that nodes already have" },
  additional: { read: path, required: true, what: "the pull secret to add" },
  conflicts: {
    read: oneOf("additional", "original"),
    standard: "additional",
    what: "which credential wins if both files have one, additional or original",
  },
  "output-file": {
    read: path,
    what: "the file for the document; only you can read it (0600)",
  },
  "show-credentials": { ...toggle, what: "print the document, with all its credentials" },
  protect: {
    read: protectable,
    repeated: true,
    what: "refuse additional entries that serve this registry",
  },
} as const satisfies Table;

const oneInput: Rule<typeof flags> = ({ original, additional }) =>
  original === "-" && additional === "-"
    ? "--additional -: standard input is --original already; give one of the two as a file"
    : undefined;

/**
 * Standard output often goes to logs, so we print credentials there only with --show-credentials.
 */
const oneOutput: Rule<typeof flags> = (values) => {
  const file = values["output-file"];
  const show = values["show-credentials"];
  if (file === undefined && show === false)
    return "--output-file: is missing; give a file, or --show-credentials to print credentials";
  if (file === "-") return "--output-file -: is not a file; give --show-credentials to print";
  return file !== undefined && show === true
    ? "--show-credentials: --output-file is given already; give one of the two"
    : undefined;
};

export const merge = command(
  {
    group: "local",
    what: "merge two pull secrets into the document that nodes get",
    example: "--original config.json --additional pull-secret.json --output-file merged.json",
    more:
      "Writes the canonical document to --output-file, with mode 0600, and warnings to standard\n" +
      "error. If a file is refused, nothing is written.",
    flags,
    rules: [oneInput, oneOutput],
  },
  async ({ original, additional, conflicts, protect, "output-file": output }, io) => {
    const sources: MergeSource[] = [];
    const problems: Problem[] = [];
    const elsewhere: Problem[] = [];
    let bytes = 0;
    for (const [role, file] of [
      ["original", original] as const,
      ["additional", additional] as const,
    ]) {
      if (file === undefined) continue;
      const secret = await readSecret(file, io);
      bytes += secret.document?.length ?? 0;
      const judged = judgeSecret(secret, { name: role, role });
      if (judged.ok) sources.unshift({ id: role, accepted: judged });
      else problems.push(...judged.problems);
      if (role === "additional") elsewhere.push(...[misplaced(secret) ?? []].flat());
    }
    if (problems.length > 0) throw refusedFor(problems);
    const joined = joinSources(sources, bytes, { conflicts, protect });
    if (!joined.ok) throw refusedFor(joined.problems);
    for (const warning of [...elsewhere, ...joined.merged.warnings]) io.err(codedLine(warning));
    const text = `${joined.document}\n`;
    if (output === undefined) io.out(text);
    else await io.write(output, text);
    return 0;
  },
);
