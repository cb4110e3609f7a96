/** Markdown that several pages are made of. */

export type Row = readonly string[];

export function table(head: Row, rows: readonly Row[]): string {
  const lines = [head, head.map(() => "---"), ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
