/**
 * `check`: the controller's verdict on a pull secret, and the registries' verdicts on its
 * credentials.
 */
import type { V1Secret } from "@kubernetes/client-node";
import { additionalSecretName, namespace } from "#contract/names.ts";
import { oneOf, toggle, Wrong } from "#contract/values.ts";
import { askAll, limitSeconds } from "#registry/ask.ts";
import { planOf, questionsOf, verdictsOf, type Verdict } from "#registry/question.ts";
import { repositoryOf } from "#pullsecret/registry/image.ts";
import { escape, redactKey } from "#pullsecret/problems/keypath.ts";
import { formatProblem, type Problem } from "#pullsecret/problems/problems.ts";
import { clusterFlags, sourceFlag } from "../cluster/flags.ts";
import { peekObject, secretPath, sourceSecret } from "../cluster/object.ts";
import { ofLive, readSecrets } from "../document/manifests.ts";
import { path } from "../document/operands.ts";
import {
  codedLine,
  examineWhole,
  explainedBy,
  type Examined,
  protectionOf,
} from "../document/verdict.ts";
import { columns, outputFlag, print } from "../terminal/output.ts";
import { command } from "../terminal/command.ts";
import { Refused, type ClusterIo, type ScreenIo, type Reach } from "../terminal/io.ts";
import { paintFor } from "../terminal/paint.ts";

/** A problem or a warning as `-o json` prints it. */
type Finding = Readonly<{
  code: string;
  /** Names the file, and the object in it. */
  source: string;
  path: string;
  message: string;
  /** What to do. */
  next: string;
}>;

/** The result as `-o json` prints it. Its shape is stable, even for a document that we refuse. */
type Answer = Readonly<{
  accepted: boolean;
  problems: readonly Finding[];
  warnings: readonly Finding[];
  /** With --login, each registry has `answer` and `why`. */
  registries: readonly (Readonly<{ registry: string }> & Partial<Said>)[];
  /** With --image. */
  images?: readonly (Readonly<{ image: string }> & Said)[];
}>;

/** A registry's verdict. */
type Said = Pick<Verdict, "answer" | "why">;

const saidBy = ({ answer, why }: Verdict): Said => ({ answer, why });

const image = (text: string): string | Wrong =>
  repositoryOf(text) === undefined
    ? new Wrong("is not an image name (example: registry.example/team/app:1)")
    : text;

export const check = command(
  {
    group: "see",
    what: "check an additional pull secret, and whether its registries accept its credentials",
    example: "--login -f pull-secret.json",
    more:
      "The file is a pull secret, or a manifest in JSON or YAML: Secrets, and lists of them. With a\n" +
      "file, the command needs no cluster. Without a file, it checks the source's Secret, which\n" +
      "requires the right to get it. --login asks each registry from this machine: it logs in, or with\n" +
      "--image asks for the right to pull that image. It sends a credential only over TLS, except to\n" +
      "this machine and for a key with http://. -o github prints annotations of GitHub Actions. The\n" +
      "exit code is 1 if the pull secret is refused, if with --login a registry denies its credential\n" +
      `or gives no answer within ${limitSeconds} s, or if the answer about an --image is not Accepted. If a\n` +
      "registry uses your own authority, set NODE_EXTRA_CA_CERTS to its file.",
    flags: {
      F: { read: path, from: "operand", what: "the pull secret to check, as with --file" },
      file: { read: path, short: "f", what: "the pull secret to check, instead of the cluster's" },
      login: { ...toggle, what: "ask each registry whether it accepts its credential" },
      image: {
        read: image,
        repeated: true,
        what: "with --login, an image that nodes must be able to pull",
      },
      ...sourceFlag,
      output: {
        ...outputFlag.output,
        read: oneOf("text", "json", "yaml", "github"),
        what: "how to print, text, json, yaml or github",
      },
      ...clusterFlags,
    },
    rules: [
      ({ F, file }) => (F && file ? "--file: F is given already; give one of the two" : undefined),
      ({ F, file, source }) =>
        source && (F ?? file) ? "--source: names a Secret; leave out the file" : undefined,
      ({ image: images = [], login }) =>
        images.length > 0 && !login ? "--image: also needs --login" : undefined,
    ],
  },
  async ({ F, file = F, login, image: names, source, output, ...how }, io) => {
    if (file === undefined && io.piped)
      io.err("standard input is not read: checks the Secret; give - to check standard input");
    const each =
      file === undefined
        ? [await ofCluster(how, source, io)]
        : (await readSecrets(file, io)).map((secret) => examineWhole(secret));
    const problems = each.flatMap((result) => result.problems);
    const warnings = each.flatMap((result) => result.warnings);
    const entries = each.flatMap((result) => result.entries);
    const plan = login && problems.length === 0 ? planOf(entries, names) : planOf([], []);
    const answers = await askAll(questionsOf(plan));
    const verdicts = verdictsOf(plan, (question) => answers.get(question));
    const registries = entries.map((entry) => {
      const verdict = verdicts.entries.get(entry);
      const named = { registry: redactKey(entry.registry) };
      return Object.assign(named, verdict && saidBy(verdict));
    });
    const images = verdicts.images.map(({ image: name, ...verdict }) => ({
      image: name,
      ...saidBy(verdict),
    }));
    const accepted = problems.length === 0;
    if (output === "github") io.out(annotations(file, problems, warnings));
    else {
      const listed = output === "text" ? [...problems, ...warnings] : [];
      for (const issue of listed) io.err(codedLine(issue));
      if (listed.length > 0) io.err(explainedBy(listed));
      const findings = { problems: problems.map(findingOf), warnings: warnings.map(findingOf) };
      if (accepted || output !== "text")
        await print(
          output,
          { accepted, ...findings, registries, ...(images.length > 0 && { images }) },
          (report) => lines(report, io),
          io,
        );
    }
    const isWorking = [...verdicts.entries.values()].every(
      ({ answer, asked }) => answer === "Accepted" || !asked,
    );
    const isPullable = verdicts.images.every(({ answer }) => answer === "Accepted");
    return accepted && isWorking && isPullable ? 0 : 1;
  },
);

const findingOf = ({ code, source, path, what, todo }: Problem): Finding => ({
  code,
  source,
  path,
  message: what,
  next: todo,
});

/** The problems as workflow commands of GitHub Actions, escaped by the rules of GitHub. */
function annotations(
  file: string | undefined,
  problems: readonly Problem[],
  warnings: readonly Problem[],
): string {
  // escape() leaves no line breaks.
  const value = (text: string) => escape(text.replaceAll("%", "%25"));
  const property = (text: string) => value(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
  const at = file === undefined || file === "-" ? "" : `file=${property(file)},`;
  const line = (level: string) => (issue: Problem) =>
    `::${level} ${at}title=${issue.code}::${value(formatProblem(issue))}\n`;
  return [...problems.map(line("error")), ...warnings.map(line("warning"))].join("");
}

/** The source's Secret in the cluster. Throws Refused if it does not exist. */
async function ofCluster(how: Reach, source: string | undefined, io: ClusterIo): Promise<Examined> {
  const cluster = await io.reach(how);
  const object = await peekObject(cluster);
  const { secret: name } = sourceSecret(object, source);
  const live = await cluster.get<V1Secret>(secretPath(name));
  if (live === undefined)
    throw new Refused(
      `${name}: there is no such Secret in ${namespace}; give --file, or another --source than ` +
        additionalSecretName,
    );
  return examineWhole(ofLive(name, live), protectionOf(object), name);
}

const inks = { Accepted: "good", Denied: "bad", Unknown: "doubt" } as const;

function lines({ registries, images = [] }: Answer, { colour }: ScreenIo): string[] {
  const count = registries.length;
  const paint = paintFor(colour);
  const named = images.map(({ image: name, ...said }) => ({ ...said, registry: name }));
  const asked = [...registries, ...named].flatMap(({ registry, answer, why = "" }) =>
    answer === undefined ? [] : [{ answer, row: [registry, answer, why] }],
  );
  const rows = columns(asked.map(({ row }) => row));
  return [
    paint.good(`accepted: ${count} ${count === 1 ? "registry" : "registries"}`),
    ...rows.map((row, at) => paint[inks[asked[at]?.answer ?? "Unknown"]](row)),
  ];
}
