/** Markdown functions for all generated pages. */

export type Row = readonly string[];

export function table(head: Row, rows: readonly Row[]): string {
  const lines = [head, head.map(() => "---"), ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** The anchor of a heading, as GitHub makes it. The anchor of a code's heading is the code. */
export function slugOf(title: string): string {
  const [code] = /^GPS\d{3}(?=:)/.exec(title) ?? [];
  const words = (code ?? title).toLowerCase();
  return words.replaceAll(/[^\w -]/g, "").replaceAll(" ", "-");
}

/** Columns of a line of prose. */
const columns = 100;

/**
 * Lines that stay unchanged: a table, a heading, a picture, a quotation, a comment, a blank line.
 */
const unchanged = /^(?:\s*\||#|!\[|>|<|\s*$)/;
const item = /^(\s*(?:[-*]|\d+\.) )(.*)$/;

/**
 * Wraps prose at 100 columns, except longer words. It refills a paragraph or list item only if a
 * line is too long. Fenced blocks, tables and headings stay unchanged.
 */
export function wrapped(text: string): string {
  let fenced = false;
  const blocks: string[][] = [];
  const verbatim = new Set<readonly string[]>();
  for (const line of text.split("\n")) {
    const isFence = /^\s*```/.test(line);
    const last = blocks.at(-1);
    const goesOn = last !== undefined && !verbatim.has(last) && isProse(last[0] ?? "");
    if (!fenced && !isFence && goesOn && isProse(line) && !item.test(line)) last.push(line);
    else blocks.push([line]);
    if (fenced || isFence) verbatim.add(blocks.at(-1) ?? []);
    if (isFence) fenced = !fenced;
  }
  return blocks.flatMap((block) => (verbatim.has(block) ? block : filled(block))).join("\n");
}

const isProse = (line: string): boolean => !unchanged.test(line);

function filled(block: readonly string[]): readonly string[] {
  const [first = ""] = block;
  if (!isProse(first) || block.every(({ length }) => length <= columns)) return block;
  const [, mark = /^\s*/.exec(first)?.[0] ?? ""] = item.exec(first) ?? [];
  const text = [first.slice(mark.length), ...block.slice(1)].join(" ");
  // Code stays on one line.
  const words = text.match(/(?:`[^`]*`|\S)+/g) ?? [];
  const lines = [mark];
  const indent = " ".repeat(mark.length);
  for (const word of words) {
    const line = lines.at(-1) ?? "";
    const empty = line === mark || line === indent;
    if (empty) lines[lines.length - 1] = line + word;
    else if (line.length + 1 + word.length <= columns) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(indent + word);
  }
  return lines;
}
