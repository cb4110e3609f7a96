/** `remove`: removes the credential for one registry from a source's Secret. */
import { quote } from "#pullsecret/problems/keypath.ts";
import { clusterFlags, sourceFlag, waitFor } from "../cluster/flags.ts";
import { peekObject, sourceSecret } from "../cluster/object.ts";
import { knownRegistry } from "../document/operands.ts";
import { rewrite } from "../document/rewrite.ts";
import { protectionOf } from "../document/verdict.ts";
import { agree, yesFlag } from "../terminal/confirm.ts";
import { command } from "../terminal/command.ts";
import { Refused } from "../terminal/io.ts";

export const remove = command(
  {
    group: "change",
    what: "remove the credential of one registry",
    example: "quay.io",
    more:
      "Writes the Secret only if no other client has changed it in the meantime. Asks before it\n" +
      "removes the last usable registry. In that case it deletes the Secret, and the nodes get their\n" +
      "previous entries back.",
    flags: {
      REGISTRY: {
        read: knownRegistry,
        from: "operand",
        required: true,
        what: "a registry of the Secret, in any spelling of it",
      },
      ...yesFlag,
      ...sourceFlag,
      ...clusterFlags,
    },
  },
  async ({ REGISTRY, source, yes, ...how }, io) => {
    const cluster = await io.reach(how);
    const object = await peekObject(cluster);
    const { secret } = sourceSecret(object, source);
    const question = (useless: readonly string[]) =>
      `${quote(REGISTRY)} is the last ${useless.length > 0 ? "usable registry in" : "registry of"} ${secret}. ` +
      `Delete this Secret, and remove its credentials from every node of ${cluster.identity}?`;
    const done = await rewrite(cluster, {
      secret,
      registry: REGISTRY,
      login: undefined,
      protection: protectionOf(object),
      beforeDeletion: (useless) => {
        if (object?.spec?.withdrawal?.onDelete === "Keep")
          throw new Refused(
            `${secret}: spec.withdrawal.onDelete is Keep, so its last credential would stay on the ` +
              "nodes; nothing is written: set onDelete to Withdraw first",
          );
        for (const line of useless) io.err(line);
        return agree(yes, question(useless), io);
      },
    });
    for (const line of done.warnings) io.err(line);
    const outcome =
      done.did === "deleted" ? "the Secret is deleted" : `registries: ${done.entries}`;
    io.out(`${secret}: ${quote(REGISTRY)}: credential removed (${outcome})\n`);
    io.out(`${waitFor(source, done.did === "deleted")}\n`);
    return 0;
  },
);
