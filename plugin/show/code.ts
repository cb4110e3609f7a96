/** The explanation of a code on a terminal. Pure. */

/**
 * The text of this code from the page, without its markup. Undefined if there is no such code.
 * Where to see a code, what happens next and what to do are stated once for the codes of a section,
 * unless a code has its own.
 */
export function explanationOf(page: string, code: string): string | undefined {
  const anchor = `### <a id="${code.toLowerCase()}"></a>`;
  const at = page.indexOf(anchor);
  if (at < 0) return undefined;
  const [entry = ""] = page.slice(at + anchor.length).split(/^#{2,3} /m, 1);
  const [lead = ""] = page.slice(page.lastIndexOf("\n## ", at)).split("\n### ", 1);
  const usual = (lead.match(/^\*\*(?:See|Next|Do)\*\*: .+(?:\n.+)*$/gm) ?? []).filter(
    (paragraph) => !entry.includes(paragraph.slice(0, paragraph.indexOf(":"))),
  );
  const paragraphs = [...entry.trim().split("\n\n"), ...usual];
  const isLast = (paragraph: string) => paragraph.startsWith("**Do**");
  const text = [
    ...paragraphs.filter((paragraph) => !isLast(paragraph)),
    ...paragraphs.filter(isLast),
  ];
  return `${text.join("\n\n")}\n`
    .replaceAll(/\[([^\]]+)\]\([^)]+\)/g, "$1")
    .replaceAll(/\*\*|`/g, "")
    .replaceAll(/\\([<>*_\\])/g, "$1");
}
