/** `diff`: the changes that a file would make to a source, before you apply it. */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import { secretKeys } from "#contract/names.ts";
import { documentLimits } from "#pullsecret/json/json.ts";
import { parse, type Accepted } from "#pullsecret/document/parse.ts";
import { clusterFlags, sourceFlag } from "#plugin/cluster/flags.ts";
import { peekObject } from "#plugin/cluster/object.ts";
import { secretPath, sourceSecret } from "#plugin/cluster/secrets.ts";
import { differences, type Difference } from "#plugin/document/diff.ts";
import { path } from "#plugin/document/path.ts";
import { protectionOf, verdictOn } from "#plugin/document/verdict.ts";
import { columns } from "#plugin/terminal/columns.ts";
import { command } from "#plugin/terminal/command.ts";
import { outputFlag, print } from "#plugin/terminal/output.ts";
import { paintFor, type Paint } from "#plugin/terminal/paint.ts";

/** The result that `-o json` prints. Its shape is stable. */
type Answer = Readonly<{
  secret: string;
  changes: readonly (Difference & Readonly<{ servedBy?: string }>)[];
  /** How many kubelets a rollout of the changes would restart. Absent if this is unknown. */
  restarts?: number;
}>;

export const diff = command(
  {
    group: "see",
    what: "show what a file would change in a source, and how many kubelets would restart",
    example: "-f additional.json",
    more:
      "Checks the file by the controller's rules, and compares it with the source's Secret, which\n" +
      "requires the right to get it. Shows registries and the sources that serve them, but no\n" +
      "credential.",
    flags: {
      file: { read: path, required: true, short: "f", what: "the pull secret to apply" },
      ...sourceFlag,
      ...outputFlag,
      ...clusterFlags,
    },
  },
  async ({ file, source, output, ...how }, io) => {
    const cluster = await io.reach(how);
    const object = await peekObject(cluster);
    const { secret } = sourceSecret(object, source);
    const bytes = await io.read(file, documentLimits.bytes);
    const after = verdictOn(bytes, protectionOf(object));
    for (const line of after.warnings) io.err(line);
    const live = await cluster.get<V1Secret>(secretPath(secret));
    const text = live?.data?.[secretKeys.document];
    const before = text === undefined ? [] : entriesOf(Buffer.from(text, "base64"), secret);
    if (before === undefined) io.err(`${secret}: is not accepted now; the whole file is new`);
    const changes = differences(before ?? [], after.entries);
    const answer: Answer = {
      secret,
      changes: changes.map((one) => ({ ...one, ...servedBy(object, one.registry) })),
      ...restarts(object, changes),
    };
    await print(output, answer, (one) => lines(one, paintFor(io.terminal)), io);
    return 0;
  },
);

function entriesOf(bytes: Uint8Array, name: string): Accepted["entries"] | undefined {
  const parsed = parse(bytes, { name, role: "additional" });
  return parsed.ok ? parsed.entries : undefined;
}

function servedBy(
  object: GlobalPullSecret | undefined,
  registry: string,
): Readonly<{ servedBy?: string }> {
  const found = object?.status?.registries?.find((one) => one.registry === registry);
  return found === undefined ? {} : { servedBy: found.source };
}

function restarts(
  object: GlobalPullSecret | undefined,
  changes: readonly Difference[],
): Readonly<{ restarts?: number }> {
  const { mode = "Restart" } = object?.spec?.delivery ?? {};
  if (changes.length === 0 || mode !== "Restart") return { restarts: 0 };
  const nodes = object?.status?.nodes;
  return nodes === undefined ? {} : { restarts: nodes.desired };
}

const signs = { added: "+", changed: "~", removed: "-" } as const;

const inks = { added: "good", changed: "doubt", removed: "bad" } as const;

function lines({ secret, changes, restarts }: Answer, paint: Paint): string[] {
  if (changes.length === 0) return [`${secret}: no change, and no kubelet restarts`];
  const rows = changes.map(({ registry, change, servedBy }) => [
    signs[change],
    registry,
    change === "changed" ? "another credential" : change,
    ...(servedBy === undefined ? [] : [`served now by ${servedBy}`]),
  ]);
  const kubelets = restarts === undefined ? "unknown how many" : String(restarts);
  const coloured = columns(rows).map((row, at) =>
    paint[inks[changes[at]?.change ?? "changed"]](row),
  );
  return [secret, ...coloured, `kubelets that would restart: ${kubelets}`];
}
