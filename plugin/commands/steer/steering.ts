/** `pause`, `resume`, `withdraw`, `retry`: each one field of the object, and why. */
import { reasonAnnotation, retryAnnotation, withdrawNowAnnotation } from "#contract/names.ts";
import { toggle, Wrong } from "#contract/values.ts";
import { clusterFlags, dryRunFlag, dryRunNote } from "#plugin/cluster/flags.ts";
import { steer, type Change } from "#plugin/cluster/steer.ts";
import { agree, yesFlag } from "#plugin/terminal/agree.ts";
import { command, type Command } from "#plugin/terminal/command.ts";
import type { Reach } from "#plugin/terminal/io.ts";

/** Maximum number of characters of a reason: the condition's message has room for so many. */
const longestReason = 256;

function reason(value: string): string | undefined | Wrong {
  if (value === "") return undefined;
  // Lines would break the tables that show it.
  const fits = value.length <= longestReason && !/[\p{C}\p{Zl}\p{Zp}]/u.test(value);
  return fits ? value : new Wrong(`is longer than ${longestReason} characters, or has lines`);
}

const flags = {
  reason: { read: reason, what: "why, shown in the object's status" },
  ...dryRunFlag,
  ...clusterFlags,
} as const;

const more =
  "Writes one field of globalpullsecret/cluster, under the field manager kubectl-pull-secret. If\n" +
  "another tool declares that field, such as Git, nothing is written, and the exit code is 1.";

const asked = "asked for; next: kubectl pull-secret wait\n";
const judged = "the API server accepts it; nothing is written (server dry run)\n";

type Given = Readonly<{ reason: string | undefined }> & Reach;

/** The part that all four commands share. `then`: what to do next. */
function steering(
  about: Readonly<{ what: string; example: string }>,
  change: Change,
  then: string,
) {
  return command(
    { group: "steer", more, flags, ...about },
    async ({ reason, ...how }: Given, io) => {
      const annotations = { [reasonAnnotation]: reason, ...change.annotations };
      await steer(await io.reach(how), { ...change, annotations });
      io.out(dryRunNote(how) === "" ? `${then}\n` : judged);
      return 0;
    },
  );
}

export const pause = steering(
  {
    what: "let no change reach the nodes, not even a withdrawal; what is in force stays repaired",
    example: '--reason "until the maintenance is over"',
  },
  { state: "Paused", annotations: {} },
  "paused; kubectl pull-secret resume ends it",
);

export const resume = steering(
  { what: "let changes reach the nodes again, after pause or withdraw", example: "" },
  // A withdrawal after this one is to have its grace again.
  { state: "Managed", annotations: { [withdrawNowAnnotation]: undefined } },
  "resumed; next: kubectl pull-secret wait",
);

export const retry: Command = command(
  {
    group: "steer",
    what: "try a revision that halted once more, now",
    example: '--reason "n7 has a new disk"',
    more,
    flags,
  },
  async ({ reason, ...how }, io) => {
    // Any new value asks; the time says when.
    const now = { [retryAnnotation]: new Date().toISOString() };
    // Without one, why it is paused stays.
    const annotations = reason === undefined ? now : { ...now, [reasonAnnotation]: reason };
    await steer(await io.reach(how), { annotations });
    io.out(dryRunNote(how) === "" ? asked : judged);
    return 0;
  },
);

export const withdraw = command(
  {
    group: "steer",
    what: "remove the pull secret from the nodes; your own Secrets stay",
    example: '--now --yes --reason "the credential leaked"',
    more,
    flags: {
      now: { ...toggle, what: "without the grace of spec.withdrawal" },
      ...yesFlag,
      ...flags,
    },
  },
  async ({ reason, now, yes, ...how }, io) => {
    const cluster = await io.reach(how);
    const isDry = dryRunNote(how) !== "";
    await agree(yes || isDry, `Take the pull secret off every node of ${cluster.identity}?`, io);
    const haste = now ? "true" : undefined;
    const annotations = { [reasonAnnotation]: reason, [withdrawNowAnnotation]: haste };
    await steer(cluster, { state: "Withdrawn", annotations });
    io.out(isDry ? judged : asked);
    return 0;
  },
);
