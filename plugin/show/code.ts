/** The explanation of a code on a terminal. Pure. */

/** The text of this code from the page, without its markup. Undefined if there is no such code. */
export function explanationOf(page: string, code: string): string | undefined {
  const anchor = `### <a id="${code.toLowerCase()}"></a>`;
  const [, after] = page.split(anchor);
  const [section = ""] = after?.split(/^#{2,3} /m) ?? [];
  if (section === "") return undefined;
  const text = section
    .replaceAll(/\[([^\]]+)\]\([^)]+\)/g, "$1")
    .replaceAll(/\*\*|`/g, "")
    .replaceAll(/\\([<>*_\\])/g, "$1");
  return `${text.trim()}\n`;
}
