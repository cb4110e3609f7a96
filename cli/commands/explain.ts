/** `explain`: what the kubelet would do with a file for an image. */
import { oneOf } from "#contract/values.ts";
import { explain as explainFile, type Explanation } from "#pullsecret/explain.ts";
import { escape } from "#pullsecret/keypath.ts";
import { formatProblem } from "#pullsecret/problems.ts";
import { path } from "../document/path.ts";
import { columns } from "../terminal/columns.ts";
import { command } from "../terminal/command.ts";
import { Misuse } from "../terminal/io.ts";
import { textOf } from "../terminal/output.ts";

/** The kubelet reads any size; 16 MiB is 16 times what a Secret can hold. */
const longestFile = 16 * 1024 * 1024;

export const explain = command(
  {
    group: "files",
    what: "show which credentials the kubelet would try for an image, in its order",
    example: "quay.io/team/app:1 --file config.json",
    more: "A file that the kubelet would drop gets an answer, too.",
    flags: {
      IMAGE: {
        read: String,
        from: "operand",
        required: true,
        what: "an image as a pod has it, HOST/REPOSITORY:TAG",
      },
      file: {
        read: path,
        required: true,
        what: "a pull secret, or a node's /var/lib/kubelet/config.json",
      },
      output: {
        read: oneOf("text", "json"),
        standard: "text",
        short: "o",
        what: "how to print, text or json",
      },
    },
  },
  async ({ IMAGE: image, file, output }, io) => {
    const bytes = await io.read(file, longestFile);
    if (bytes.length > longestFile)
      throw new Misuse(`${file}: longer than 16 MiB; give the kubelet's config.json`);
    const answer = explainFile(bytes, image, file);
    if (answer === undefined)
      throw new Misuse("IMAGE: not an image reference; give HOST/REPOSITORY:TAG as a pod has it");
    if (answer.dropped !== undefined)
      io.err(`${formatProblem(answer.dropped)} (the kubelet drops the whole file)`);
    const { explanation } = answer;
    io.out(output === "json" ? `${JSON.stringify(explanation)}\n` : textOf(lines(explanation)));
    return 0;
  },
);

function lines({ image, tries, ignored }: Explanation): string[] {
  const tried = tries.map(({ registry, username }, at) => [String(at + 1), registry, username]);
  const left = ignored.map(({ registry, reason }) => ["-", registry, reason]);
  const how = tried.length === 0 ? "without a credential" : "with, in this order:";
  return [
    `${image} is pulled ${how}`,
    ...columns(tried),
    ...(left.length === 0 ? [] : ["not tried:", ...columns(left)]),
  ].map(escape);
}
