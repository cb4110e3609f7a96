import { explain, type Explanation } from "#pullsecret/explain.ts";
import { escape } from "#pullsecret/keypath.ts";
import { formatProblem } from "#pullsecret/problems.ts";
import { Misuse, type ExitCode, type Io } from "./io.ts";

/** The kubelet reads any size; 16 MiB is 16 times what a Secret can hold. */
const longestFile = 16 * 1024 * 1024;

/**
 * `explain`: what the kubelet would do with a file for an image. A file that it would drop gets an
 * answer, too.
 */
export async function runExplain(
  {
    IMAGE: image,
    file,
    output,
  }: Readonly<{ IMAGE: string; file: string; output: "text" | "json" }>,
  io: Io,
): Promise<ExitCode> {
  const bytes = await io.read(file, longestFile);
  if (bytes.length > longestFile)
    throw new Misuse(`${file}: longer than 16 MiB; give the kubelet's config.json`);
  const answer = explain(bytes, image, file);
  if (answer === undefined)
    throw new Misuse("IMAGE: not an image reference; give HOST/REPOSITORY:TAG as a pod has it");
  if (answer.dropped !== undefined)
    io.err(`${formatProblem(answer.dropped)} (the kubelet drops the whole file)`);
  io.out(output === "json" ? `${JSON.stringify(answer.explanation)}\n` : table(answer.explanation));
  return 0;
}

function table({ image, tries, ignored }: Explanation): string {
  const tried = tries.map(({ registry, username }, index) => [
    String(index + 1),
    registry,
    username,
  ]);
  const left = ignored.map(({ registry, reason }) => ["-", registry, reason]);
  const lines = [
    tried.length === 0
      ? `${image} is pulled without a credential`
      : `${image} is pulled with, in this order:`,
    ...columns(tried),
    ...(left.length === 0 ? [] : ["not tried:", ...columns(left)]),
  ];
  return lines.map((line) => `${escape(line)}\n`).join("");
}

/** Rows as lines with columns of equal width. */
function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = [0, 1, 2].map((column) =>
    Math.max(0, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows.map((row) =>
    `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")}`.trimEnd(),
  );
}
