/**
 * The pages as a static site, for any web server. Each page keeps its path (docs/use/install.md is
 * docs/use/install.html), and the anchor of a code is the code. The site requests nothing from
 * other hosts.
 */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { UserConfig } from "vitepress";
import { slugOf } from "#tools/pages/markdown.ts";

const root = join(import.meta.dirname, "../..");
const read = (page: string): string => readFileSync(join(root, page), "utf8");

/** Paths of all pages, from the root of the checkout. */
const pages: ReadonlySet<string> = new Set(globSync(["*.md", "docs/**/*.md"], { cwd: root }));

/** `README.md` → `index.md`, because servers open a folder's index.html. */
const addressOf = (page: string): string => page.replace(/README\.md$/, "index.md");

/** The groups of docs/README.md, which has a paragraph for each, with its links in their order. */
const sidebar = read("docs/README.md")
  .split("\n\n")
  .flatMap((paragraph) => {
    const [, text] = /^\*\*(.*?)\*\*/.exec(paragraph) ?? [];
    const links = Array.from(paragraph.matchAll(/\]\(([^)]+\.md)\)/g), ([, link = ""]) => link);
    const items = links.map((link) => {
      const page = join("docs", link);
      return { text: /^# (.*)$/m.exec(read(page))?.[1] ?? page, link: `/${addressOf(page)}` };
    });
    return text === undefined ? [] : [{ text, items }];
  });

/** The parts of markdown-it's tokens that `adapt` changes. */
type Token = { type: string; content: string; children?: Token[] | null } & Readonly<{
  attrGet: (name: string) => string | null;
  attrSet: (name: string, value: string) => void;
}>;

/**
 * Adapts a line's tokens to the site. A link to a file that is not a page becomes plain text. The
 * anchor that a heading sets for itself goes, because the heading's id is the same.
 */
function adapt(tokens: readonly Token[], folder: string): void {
  let isOpen = true;
  for (const token of tokens) {
    if (token.type === "html_inline" && /^<(?:a id=|\/a)/.test(token.content)) token.content = "";
    if (token.type === "link_close" && !isOpen) token.type = "text";
    if (token.type !== "link_open") continue;
    const href = token.attrGet("href") ?? "";
    const [file = "", anchor] = href.split("#");
    const target = join(folder, file);
    isOpen = file === "" || /^[a-z]+:/.test(href) || pages.has(target);
    if (!isOpen) token.type = "text";
    else if (pages.has(target))
      token.attrSet("href", [addressOf(file), anchor].filter(Boolean).join("#"));
  }
}

const { version } = JSON.parse(read("package.json")) as { version: string };

const config: UserConfig = {
  title: `Global Pull Secret ${version}`,
  // Without an icon, browsers request one from the host's root.
  head: [["link", { rel: "icon", href: "data:," }]],
  srcDir: root,
  srcExclude: ["{lib,manifests}/**"],
  outDir: join(root, "dist/site"),
  cacheDir: join(root, "dist/.site"),
  // In parallel, the order of the search's index would differ from build to build.
  buildConcurrency: 1,
  vite: { build: { target: "es2022", chunkSizeWarningLimit: 2000 } },
  rewrites: addressOf,
  themeConfig: {
    nav: [{ text: "All pages", link: "/docs/" }],
    sidebar,
    outline: [2, 3],
    search: { provider: "local" },
  },
  markdown: {
    anchor: { slugify: slugOf },
    config(markdown) {
      markdown.core.ruler.push("adapt", ({ tokens, env }) => {
        const { realPath, path } = env as { realPath?: string; path: string };
        const folder = relative(root, dirname(realPath ?? path));
        for (const { children } of tokens) adapt(children ?? [], folder);
      });
    },
  },
};
export default config;
