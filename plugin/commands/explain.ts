/** `explain`: shows which credentials the kubelet tries for an image, a pod or a workload. */
import { Buffer } from "node:buffer";
import { text, Wrong } from "#contract/values.ts";
import { sourceIds, useAnnotation } from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { judgeSecret } from "#pullsecret/document/secret.ts";
import { explain as explainFile, type Explanation } from "#pullsecret/kubelet/match.ts";
import { formatProblem } from "#pullsecret/problems/problems.ts";
import { clusterFlags } from "../cluster/flags.ts";
import { readObject } from "../cluster/object.ts";
import { readSecret } from "../document/manifests.ts";
import { path } from "../document/operands.ts";
import { codedLine, misplaced, refusedFor } from "../document/verdict.ts";
import { explainPod, podLines, type PodAnswer } from "../pods/explain.ts";
import { gatherPod } from "../pods/gather.ts";
import { namedObject, pathOf, type NamedObject, type PodOwner } from "../pods/kinds.ts";
import { isScoped } from "../show/status.ts";
import { explainObject, inPlace, orderOf, type Explained } from "../show/explanation.ts";
import { age, columns, outputFlag, print, type Format } from "../terminal/output.ts";
import { command } from "../terminal/command.ts";
import { Misuse, Refused, type ExitCode, type Io, type Reach } from "../terminal/io.ts";
import { paintFor, type Paint } from "../terminal/paint.ts";

export const explain = command(
  {
    group: "see",
    what: "show which credentials the kubelet tries for an image or a pod, and why a pull fails",
    example: "pod/web-0 -n shop",
    more:
      "For TYPE/NAME (pod, deploy, ds, sts, rs, job, cj) it shows each image, the pod's\n" +
      "imagePullSecrets, the node's credential, the last error, and what to do. The kubelet tries the\n" +
      "Secrets first, then its config.json, then credential providers, until one succeeds. A Secret\n" +
      "that you are not allowed to get is listed as not read. For an IMAGE it reads\n" +
      "globalpullsecret/cluster, which does not list other entries in a node's own file. With --file,\n" +
      "it needs no cluster. The kubelet tries entries with the same number in random order. A user\n" +
      "name that may itself be a credential is not shown.",
    flags: {
      IMAGE: {
        read: target,
        from: "operand",
        required: true,
        what: "an image as in a pod, HOST/REPOSITORY:TAG, or an object, TYPE/NAME",
      },
      file: {
        read: path,
        short: "f",
        what: "for IMAGE, a pull secret, or a node's /var/lib/kubelet/config.json",
      },
      ...outputFlag,
      ...clusterFlags,
      namespace: { read: text, short: "n", what: "the object's namespace, not the context's" },
    },
    rules: [
      ({ IMAGE, file }) =>
        typeof IMAGE === "object" && file !== undefined
          ? `--file: is for an image; leave it out, or give docker.io/${IMAGE.text} if you mean that image`
          : undefined,
      ({ IMAGE, namespace }) =>
        typeof IMAGE === "string" && namespace !== undefined
          ? "--namespace: an image has none; leave it out"
          : undefined,
    ],
  },
  async ({ IMAGE, file, output, namespace, ...how }, io) => {
    if (typeof IMAGE === "string") return explainImage(IMAGE, file, output, how, io);
    const cluster = await io.reach(how);
    const where = namespace ?? (await io.namespace(how));
    const facts = await gatherPod(cluster, await objectAt(cluster, IMAGE, where), where);
    const now = Date.now();
    const paint = paintFor(io.colour);
    const lines = (answer: PodAnswer) => podLines(answer, paint, (at) => age(at, now));
    await print(output, explainPod(facts), lines, io);
    return 0;
  },
);

async function explainImage(
  image: string,
  file: string | undefined,
  output: Format,
  how: Reach,
  io: Io,
): Promise<ExitCode> {
  const paint = paintFor(io.colour);
  if (file === undefined) {
    const object = await readObject(await io.reach(how));
    const explained = explainObject(object, image);
    if (explained === undefined) throw notAnImage;
    if (explained.omitted > 0)
      io.err(`status does not list ${explained.omitted} registries; one of them may serve it, too`);
    if (isScoped(object) && explained.tries.some(({ source }) => source !== sourceIds.original))
      io.err(`other sources serve only pods whose ServiceAccount is annotated ${useAnnotation}`);
    await print(output, explained, (explanation) => supplied(explanation, paint), io);
    return 0;
  }
  const secret = await readSecret(file, io);
  const name = secret.label;
  // A bare document can be a node's own file, which the kubelet reads by other rules.
  const judged = judgeSecret(secret, { name, role: "additional" });
  if (!judged.ok && !secret.isBare) throw refusedFor(judged.problems);
  const elsewhere = misplaced(secret);
  if (elsewhere !== undefined) io.err(codedLine(elsewhere));
  const bytes = secret.document ?? Buffer.alloc(0);
  const answer = explainFile(bytes, image, name);
  if (answer === undefined) throw notAnImage;
  if (answer.dropped !== undefined)
    io.err(`${formatProblem(answer.dropped)} (the kubelet drops the whole file)`);
  await print(output, answer.explanation, (explanation) => lines(explanation, paint), io);
  return 0;
}

async function objectAt(cluster: Cluster, named: Named, namespace: string): Promise<PodOwner> {
  const owner = await cluster.get<PodOwner>(pathOf(named, namespace));
  // The API server omits `kind` in items of lists, so we add it.
  if (owner !== undefined) return { ...owner, kind: named.kind.kind };
  throw new Refused(
    `${named.text}: not found in namespace ${namespace}; give -n, or docker.io/${named.text} if ` +
      "you mean that image",
  );
}

type Named = NamedObject & Readonly<{ text: string }>;

/** An image, or an object as TYPE/NAME, like in kubectl. */
function target(value: string): string | Named | Wrong | undefined {
  const named = namedObject(value);
  if (named === undefined) return value === "" ? undefined : value;
  return named instanceof Wrong ? named : { ...named, text: value };
}

const notAnImage = new Misuse(
  "IMAGE: not an image reference; give HOST/REPOSITORY:TAG as a pod has it",
);

function supplied({ image, tries, ignored }: Explained, paint: Paint): string[] {
  const tried = tries.map(({ order, registry, source, place, shadows = [] }) => [
    String(order),
    registry,
    `of ${source}${shadows.length === 0 ? "" : `, instead of ${shadows.join(", ")}`}${inPlace(place)}`,
  ]);
  return linesOf({ image, tried, ignored }, paint, orderOf(tries));
}

function lines({ image, tries, ignored }: Explanation, paint: Paint): string[] {
  const tried = tries.map(({ order, registry, username }) => [
    String(order),
    registry,
    username || "no user name: such a pull is anonymous",
  ]);
  return linesOf({ image, tried, ignored }, paint, orderOf(tries));
}

function linesOf({ image, tried, ignored }: Shown, paint: Paint, how: string): string[] {
  const ignoredRows = ignored.map(({ registry, reason }) => ["-", registry, reason]);
  const shown = ignoredRows.length > mostIgnored ? ignoredRows.slice(0, mostIgnored) : ignoredRows;
  const more = ignoredRows.length - shown.length;
  const isServed = tried.length > 0;
  const pulled = isServed ? how : paint.doubt("without a credential");
  return [
    `${paint.strong(image)} is pulled ${pulled}`,
    ...columns(tried).map((line) => paint.good(line)),
    ...(ignoredRows.length === 0
      ? []
      : ["not tried:", ...columns(shown).map((line) => paint.faint(line))]),
    ...(more > 0 ? [`  and ${more} more; -o json lists all`] : []),
  ];
}

/**
 * Maximum number of registries to print that do not match the image. People do not read thousands
 * of lines.
 */
const mostIgnored = 20;

type Shown = Readonly<{
  image: string;
  tried: readonly (readonly string[])[];
  ignored: Explanation["ignored"];
}>;
