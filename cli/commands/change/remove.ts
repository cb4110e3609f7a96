/** `remove`: one registry's credential out of a source's Secret. */
import { quote } from "#pullsecret/problems/keypath.ts";
import { clusterFlags, sourceFlag, waitFor } from "#cli/cluster/flags.ts";
import { peekObject } from "#cli/cluster/object.ts";
import { sourceSecret } from "#cli/cluster/secrets.ts";
import { rewrite } from "#cli/document/rewrite.ts";
import { command } from "#cli/terminal/command.ts";

export const remove = command(
  {
    group: "change",
    what: "take the credential of one registry away",
    example: "quay.io",
    more:
      "Writes the Secret only if nobody has changed it meanwhile, and deletes it when no registry is\n" +
      "left in it: then the nodes are given back what they had.",
    flags: {
      REGISTRY: {
        read: String,
        from: "operand",
        required: true,
        what: "a registry of the Secret, in any spelling of it",
      },
      ...sourceFlag,
      ...clusterFlags,
    },
  },
  async ({ REGISTRY, source, ...how }, io) => {
    const cluster = await io.reach(how);
    const object = await peekObject(cluster);
    const { secret } = sourceSecret(object, source);
    const protect = object?.spec?.protectedRegistries ?? [];
    const done = await rewrite(cluster, { secret, registry: REGISTRY, login: undefined, protect });
    for (const line of done.warnings) io.err(line);
    const left = done.did === "deleted" ? "the Secret is deleted" : `registries: ${done.entries}`;
    io.out(`${secret}: ${quote(REGISTRY)}: credential removed (${left})\n`);
    io.out(`${waitFor(source)}\n`);
    return 0;
  },
);
