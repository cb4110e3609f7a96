/** `explain`: what the kubelet would do for an image, with a file or with what is in force. */
import { Wrong } from "#contract/values.ts";
import { sourceIds, useAnnotation } from "#contract/names.ts";
import { explain as explainFile, type Explanation } from "#pullsecret/kubelet/explain.ts";
import { formatProblem } from "#pullsecret/problems/problems.ts";
import { clusterFlags } from "#cli/cluster/flags.ts";
import { readObject } from "#cli/cluster/object.ts";
import { path } from "#cli/document/path.ts";
import { isScoped } from "#cli/show/delivery.ts";
import { explainObject, type Explained } from "#cli/show/explanation.ts";
import { columns } from "#cli/terminal/columns.ts";
import { command } from "#cli/terminal/command.ts";
import { Misuse } from "#cli/terminal/io.ts";
import { outputFlag, print } from "#cli/terminal/output.ts";

/** The kubelet reads any size; 16 MiB is 16 times what a Secret can hold. */
const longestFile = 16 * 1024 * 1024;

export const explain = command(
  {
    group: "see",
    what: "show which credentials the kubelet would try for an image, and who supplied them",
    example: "quay.io/team/app:1",
    more:
      "Without --file it reads globalpullsecret/cluster; what a node's own file holds besides is not\n" +
      "known there. With --file no cluster is needed, and a file that the kubelet would drop gets an\n" +
      "answer, too. Entries with the same number mean one registry: the kubelet draws their order. A\n" +
      "user name that may be a credential by itself is not shown.",
    flags: {
      IMAGE: {
        read: image,
        from: "operand",
        required: true,
        what: "an image as a pod has it, HOST/REPOSITORY:TAG",
      },
      file: {
        read: path,
        short: "f",
        what: "a pull secret, or a node's /var/lib/kubelet/config.json",
      },
      ...outputFlag,
      ...clusterFlags,
    },
  },
  async ({ IMAGE: image, file, output, ...how }, io) => {
    if (file === undefined) {
      const object = await readObject(await io.reach(how));
      const found = explainObject(object, image);
      if (found === undefined) throw notAnImage;
      if (found.omitted > 0)
        io.err(`status does not list ${found.omitted} registries; one of them may serve it, too`);
      if (isScoped(object) && found.tries.some(({ source }) => source !== sourceIds.original))
        io.err(`only pods whose ServiceAccount is annotated ${useAnnotation} are served by others`);
      await print(output, found, supplied, io);
      return 0;
    }
    const bytes = await io.read(file, longestFile);
    if (bytes.length > longestFile)
      throw new Misuse(`${file}: longer than 16 MiB; give the kubelet's config.json`);
    const answer = explainFile(bytes, image, file);
    if (answer === undefined) throw notAnImage;
    if (answer.dropped !== undefined)
      io.err(`${formatProblem(answer.dropped)} (the kubelet drops the whole file)`);
    await print(output, answer.explanation, lines, io);
    return 0;
  },
);

/** What kubectl calls TYPE/NAME, which is also an image of a Docker Hub user of that name. */
const object =
  /^(?:po|pods?|deploy|deployments?|ds|daemonsets?|sts|statefulsets?|rs|replicasets?|jobs?|cj|cronjobs?|sa|serviceaccounts?)\/[^/:@]*$/;

/** Refuses what people mean as an object: the answer would be about another image. */
function image(text: string): string | Wrong {
  if (!object.test(text)) return text;
  return new Wrong(
    "looks like a Kubernetes object, but explain takes an image reference; give an image of its " +
      `containers, or docker.io/${text} if you mean that image`,
  );
}

const notAnImage = new Misuse(
  "IMAGE: not an image reference; give HOST/REPOSITORY:TAG as a pod has it",
);

function supplied({ image, tries, ignored }: Explained): string[] {
  const tried = tries.map(({ order, registry, source, shadows = [] }) => [
    String(order),
    registry,
    `of ${source}${shadows.length === 0 ? "" : `, instead of ${shadows.join(", ")}`}`,
  ]);
  return linesOf(image, tried, ignored, orderOf(tries));
}

function lines({ image, tries, ignored }: Explanation): string[] {
  const tried = tries.map(({ order, registry, username }) => [String(order), registry, username]);
  return linesOf(image, tried, ignored, orderOf(tries));
}

function orderOf(tries: readonly Readonly<{ order: number }>[]): string {
  const isDrawn = new Set(tries.map(({ order }) => order)).size < tries.length;
  return isDrawn ? drawnOrder : fixedOrder;
}

const fixedOrder = "with, in this order:";
const drawnOrder =
  "with, in this order (where a number occurs twice, the kubelet draws the order each time it reads the file):";

function linesOf(
  image: string,
  tried: readonly (readonly string[])[],
  ignored: Explanation["ignored"],
  how: string,
): string[] {
  const left = ignored.map(({ registry, reason }) => ["-", registry, reason]);
  return [
    `${image} is pulled ${tried.length === 0 ? "without a credential" : how}`,
    ...columns(tried),
    ...(left.length === 0 ? [] : ["not tried:", ...columns(left)]),
  ];
}
