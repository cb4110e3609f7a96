/** `check`: the controller's verdict on a pull secret, and the registries' on its credentials. */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import { additionalSecretName, namespace, secretKeys } from "#contract/names.ts";
import { toggle } from "#contract/values.ts";
import { documentLimits } from "#pullsecret/json/json.ts";
import { redactKey } from "#pullsecret/problems/keypath.ts";
import { clusterFlags, sourceFlag } from "#cli/cluster/flags.ts";
import { peekObject } from "#cli/cluster/object.ts";
import { secretPath, sourceSecret } from "#cli/cluster/secrets.ts";
import { path } from "#cli/document/path.ts";
import { protectionOf, verdictOn } from "#cli/document/verdict.ts";
import { hostAndPort } from "#cli/login/hosts.ts";
import { logInToAll, type LoginOutcome } from "#cli/login/login.ts";
import { columns } from "#cli/terminal/columns.ts";
import { command } from "#cli/terminal/command.ts";
import { Refused, type Io, type Reach } from "#cli/terminal/io.ts";
import { outputFlag, print } from "#cli/terminal/output.ts";

/** The result as `-o json` prints it: a stable shape. */
type Answer = Readonly<{
  /** `answer` and `why` with --login. */
  registries: readonly (Readonly<{ registry: string }> & Partial<LoginOutcome>)[];
}>;

export const check = command(
  {
    group: "see",
    what: "judge an additional pull secret, and ask its registries whether they take it",
    example: "--login -f pull-secret.json",
    more:
      "With a file no cluster is needed. Without one it judges the source's Secret, which takes the\n" +
      "right to get that. --login asks each registry, from where this runs: /v2/, and what that asks\n" +
      "for, a token or Basic. A registry is told its credential over TLS only, but for this machine's\n" +
      "own and for --plain-http. Exit code 1: a registry refuses, or cannot be reached, within\n" +
      "--request-timeout. For an authority of your own set NODE_EXTRA_CA_CERTS to its file.",
    flags: {
      F: { read: path, from: "operand", what: "the pull secret to judge, as with --file" },
      file: { read: path, short: "f", what: "the pull secret to judge, instead of the cluster's" },
      login: { ...toggle, what: "ask each registry whether it accepts its credential" },
      "plain-http": {
        read: hostAndPort,
        repeated: true,
        what: "a registry, HOST or HOST:PORT, that --login asks without TLS",
      },
      ...sourceFlag,
      ...outputFlag,
      ...clusterFlags,
    },
    rules: [
      ({ F, file }) => (F && file ? "--file: F is given already; give one of the two" : undefined),
      ({ F, file, source }) =>
        source && (F ?? file) ? "--source: names a Secret; leave out the file" : undefined,
      ({ login, "plain-http": plain = [] }) =>
        login === false && plain.length > 0 ? "--plain-http: is for --login" : undefined,
    ],
  },
  async ({ F, file = F, login, "plain-http": plain, source, output, ...how }, io) => {
    const { bytes, protection } =
      file === undefined
        ? await ofCluster(how, source, io)
        : { bytes: await io.read(file, documentLimits.bytes), protection: protectionOf(undefined) };
    const { entries, warnings } = await verdictOn(bytes, protection);
    for (const line of warnings) io.err(line);
    const asking = { plainHttp: new Set(plain), seconds: how["request-timeout"] };
    const outcomes = login ? await logInToAll(entries, asking) : [];
    const registries = entries.map(({ registry }, at) => {
      const named = { registry: redactKey(registry) };
      return Object.assign(named, outcomes[at]);
    });
    await print(output, { registries }, lines, io);
    return outcomes.some(({ answer }) => failures.has(answer)) ? 1 : 0;
  },
);

const failures: ReadonlySet<LoginOutcome["answer"]> = new Set(["refuses", "unreachable"]);

async function ofCluster(how: Reach, source: string | undefined, io: Io) {
  const cluster = await io.reach(how);
  const object = await peekObject(cluster);
  const { secret } = sourceSecret(object, source);
  const live = await cluster.get<V1Secret>(secretPath(secret));
  const text = live?.data?.[secretKeys.document];
  if (text === undefined)
    throw new Refused(
      `${secret}: ${live === undefined ? "there is no such Secret" : `has no ${secretKeys.document}`} ` +
        `in ${namespace}; give --file, or another --source than ${additionalSecretName}`,
    );
  return { bytes: Buffer.from(text, "base64"), protection: protectionOf(object) };
}

const words = {
  accepts: "accepts",
  refuses: "refuses",
  unreachable: "cannot be reached",
  notAsked: "is not asked",
} as const;

function lines({ registries }: Answer): string[] {
  const count = registries.length;
  const rows = registries.flatMap(({ registry, answer, why = "" }) =>
    answer === undefined ? [] : [[registry, words[answer], why]],
  );
  return [`accepted: ${count} ${count === 1 ? "registry" : "registries"}`, ...columns(rows)];
}
