/** `history` and `undo`: the documents of a source that the cluster still has. */
import { secretType } from "#contract/names.ts";
import { clusterFlags, sourceFlag } from "../cluster/flags.ts";
import { peekObject, sourceSecret } from "../cluster/object.ts";
import { differenceOf, type Difference } from "../document/difference.ts";
import { historyOf, type Revision } from "../document/history.ts";
import { protectionOf, verdictOn } from "../document/verdict.ts";
import { command } from "../terminal/command.ts";
import { Refused, type ScreenIo } from "../terminal/io.ts";
import { outputFlag, print, table } from "../terminal/output.ts";
import { paintFor } from "../terminal/paint.ts";
import { replaceDocument, replacementFlags } from "./apply.ts";

/** A row as `-o json` prints it. Its shape is stable. `against`: absent in the last row. */
type Row = Readonly<{
  state: Revision["state"];
  time: string;
  registries: number;
  /** The difference from the row below. Absent in the last row. */
  difference?: Difference;
}>;

export const history = command(
  {
    group: "see",
    what: "list the documents of a source that the cluster still has",
    example: "",
    more:
      "The newest comes first, with the difference from the one below it: + added, ~ changed, -\n" +
      "removed. At most three are kept: the one in the Secret (refused, pending, emptied or deleted,\n" +
      "if the controller has not accepted it), the last accepted one (newest), and the one that\n" +
      "joining nodes get during a rollout (served). You need the right to get the source's Secret,\n" +
      "global-pull-secret and global-pull-secret-state.",
    flags: { ...sourceFlag, ...outputFlag, ...clusterFlags },
  },
  async ({ source: name, output, ...how }, io) => {
    const cluster = await io.reach(how);
    const object = await peekObject(cluster);
    const source = sourceSecret(object, name);
    const { revisions } = await historyOf(cluster, object, source);
    if (revisions.length === 0) io.err(`${source.secret}: no document is kept`);
    const rows = revisions.map(({ state, time, entries }, at): Row => {
      const older = revisions[at + 1];
      const row = { state, time, registries: entries.length };
      return older ? Object.assign(row, { difference: differenceOf(older.entries, entries) }) : row;
    });
    await print(output, rows, (all) => linesOf(all, io), io);
    return 0;
  },
);

export const undo = command(
  {
    group: "change",
    what: "put back the document before the one in the Secret",
    example: "",
    more:
      "Takes back a document that the controller refuses or has not accepted yet, a deletion during\n" +
      "the grace period, or an accepted document while its rollout continues or is halted. In the\n" +
      "last case it cannot bring back registries that the newer document removed. After the rollout\n" +
      "nothing earlier is kept: apply the earlier file. Takes the second document that history lists,\n" +
      "and shows the difference, asks, writes and waits, as apply does. You need the rights of both.",
    flags: replacementFlags,
  },
  async ({ source: name, ...how }, io) => {
    const cluster = await io.reach(how);
    const object = await peekObject(cluster);
    const source = sourceSecret(object, name);
    const { live, revisions } = await historyOf(cluster, object, source);
    const [, earlier] = revisions;
    if (earlier === undefined)
      throw new Refused(
        `${source.secret}: no earlier document is kept; apply the earlier file: kubectl pull-secret apply -f FILE`,
      );
    const { document, state } = earlier;
    const protection = protectionOf(object);
    const { entries, warnings } = verdictOn(
      { type: secretType, document },
      protection,
      source.secret,
    );
    for (const line of warnings) io.err(line);
    const question = `Put back the ${state} document of ${source.secret} on ${cluster.identity}?`;
    const replacement = { source, live, document, entries, question };
    return replaceDocument(cluster, replacement, how, io);
  },
);

const signs = { added: "+", changed: "~", removed: "-" } as const;

/** Maximum number of registries to list in a row. People do not read a line of a thousand. */
const mostListed = 6;

function linesOf(rows: readonly Row[], { colour }: ScreenIo): readonly string[] {
  const cells = rows.map(({ state, time, registries, difference }) => {
    const all = (["added", "changed", "removed"] as const).flatMap((what) =>
      (difference?.[what] ?? []).map((registry) => `${signs[what]}${registry}`),
    );
    const more = all.length > mostListed ? [`and ${all.length - mostListed} more`] : [];
    const changes = [...all.slice(0, mostListed), ...more].join(" ");
    return {
      cells: [state, time || "-", String(registries), changes || "-"],
      isGood: state === "served" || state === "newest",
    };
  });
  return table(["STATE", "TIME", "REGISTRIES", "DIFFERENCE"], cells, paintFor(colour));
}
