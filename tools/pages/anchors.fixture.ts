/** The headings of a page that links can name. */
import { slugOf } from "./markdown.ts";

/** Anchors of a page's headings, as GitHub makes them, and anchors that the page itself sets. */
export function anchorsOf(page: string): ReadonlySet<string> {
  const text = page.replaceAll(/^```[^]*?^```$/gm, "");
  const set = Array.from(text.matchAll(/<a id="([\w-]+)"><\/a>/g), ([, id = ""]) => id);
  const headings = Array.from(
    text.replaceAll(/<[^<>]*>/g, "").matchAll(/^#+ (.*)$/gm),
    ([, heading = ""]) => heading,
  );
  const titles = headings.map((heading) => heading.replaceAll(/\]\([^)]*\)/g, ""));
  return new Set([...set, ...titles.map(slugOf)]);
}
