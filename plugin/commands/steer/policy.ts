/** `policy`: declares the object's spec, as the chart's hook does from its values. */
import { Wrong } from "#contract/values.ts";
import { clusterFlags, dryRunFlag, dryRunNote } from "#plugin/cluster/flags.ts";
import { declarePolicy } from "#plugin/cluster/policy.ts";
import { command } from "#plugin/terminal/command.ts";

function object(value: string): Readonly<Record<string, unknown>> | Wrong {
  try {
    const read = JSON.parse(value) as unknown;
    if (typeof read === "object" && read !== null && !Array.isArray(read))
      return read as Readonly<Record<string, unknown>>;
  } catch {
    // The same sentence as for JSON of another kind.
  }
  return new Wrong("is not a JSON object; give the fields of spec");
}

export const policy = command(
  {
    group: "steer",
    what: "declare the spec of GlobalPullSecret, as the Helm chart does from its values",
    example: `--spec '{"rollout":{"maxUnavailable":"25%"}}'`,
    more:
      "Writes exactly these fields, under the field manager global-pull-secret-policy. Fields that an\n" +
      "earlier call gave and this one does not go back to their defaults. If another tool declares one\n" +
      "of the fields, such as Git, nothing is written, and the exit code is 1.",
    flags: {
      spec: { read: object, required: true, what: "the fields of spec, as JSON" },
      ...dryRunFlag,
      ...clusterFlags,
    },
  },
  async ({ spec, ...how }, io) => {
    await declarePolicy(await io.reach(how), spec);
    io.out(`policy declared${dryRunNote(how)}\n`);
    return 0;
  },
);
