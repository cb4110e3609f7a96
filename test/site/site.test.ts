/** Writes the site of the pages, serves it below a path, and reads it with a real browser. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, extname, join } from "node:path";
import { after, test } from "node:test";
import { anchorOf, withHelp } from "#contract/help.ts";
import { sections } from "#tools/pages/errors.ts";
import { until } from "../cluster/await.ts";
import { run } from "../cluster/run.ts";
import { Browser } from "./browser.ts";

const root = join(import.meta.dirname, "../..");
const base = "/pull-secret/";
const folder = mkdtempSync(join(tmpdir(), "site-"));
const types: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
};

const server = createServer(({ url = "" }, response) => {
  const path = decodeURIComponent(new URL(url, "http://site").pathname).slice(base.length);
  const file = join(folder, path, path === "" || path.endsWith("/") ? "index.html" : "");
  if (!existsSync(file)) response.writeHead(404).end();
  else response.writeHead(200, { "content-type": types[extname(file)] }).end(readFileSync(file));
});

const argv = [process.execPath, "tools/site/main.ts", "--base", base, "--out", folder];
await run(argv, { cwd: root });
await once(server.listen(0, "127.0.0.1"), "listening");
const site = `http://127.0.0.1:${(server.address() as AddressInfo).port}${base}`;
const browser = await Browser.start();
after(async () => {
  await browser.end();
  server.close();
  server.closeAllConnections();
  rmSync(folder, { recursive: true });
});

/** What every test must leave behind. */
function assertQuiet(): void {
  assert.deepEqual(browser.errors, []);
  const foreign = browser.requests.filter(
    (url) => !url.startsWith(site) && !url.startsWith("data:"),
  );
  assert.deepEqual(foreign, []);
}

test("opens every page of the side bar, with its title and without another host", async () => {
  await browser.open(site);
  const links = await browser.evaluate<[string, string][]>(
    `Array.from(document.querySelectorAll(".VPSidebar a"), (a) => [a.textContent, a.href])`,
  );
  assert.ok(links.length >= 25, JSON.stringify(links));
  for (const [title, url] of links) {
    await browser.open(url);
    const heading = await browser.evaluate<string>(`document.querySelector("h1").innerText`);
    assert.ok(heading.startsWith(title), `${url}: ${heading}`);
  }
  assert.ok(browser.requests.length > links.length);
  assertQuiet();
});

test("has no link to a missing page or heading", () => {
  const pages = new Map(
    globSync("**/*.html", { cwd: folder }).map((page) => [
      page,
      readFileSync(join(folder, page), "utf8"),
    ]),
  );
  let ofTexts = 0;
  for (const [page, html] of pages)
    for (const { 1: address = "", index } of html.matchAll(/<a[^>]* href="([^"]*)"/g)) {
      if (/^[a-z]+:/.test(address)) continue;
      const [path = "", anchor] = address.split("#");
      const target = path.startsWith(base) ? path.slice(base.length) : join(dirname(page), path);
      const file = path === "" ? page : /(?:^|\/)$/.test(target) ? `${target}index.html` : target;
      assert.ok(existsSync(join(folder, file)), `${page}: ${address}`);
      if (anchor) assert.ok(pages.get(file)?.includes(`id="${anchor}"`), `${page}: ${address}`);
      if (path !== "" && index > html.indexOf("<main")) ofTexts += 1;
    }
  assert.ok(ofTexts > 300, String(ofTexts));
});

test("leads from the code at the end of each message to the heading of this code", async () => {
  const codes = sections.flatMap(({ catalogue }) => Object.values(catalogue).map(([code]) => code));
  const anchors = codes.map((code) => {
    const [, named = ""] = / help (GPS\d+)\]$/.exec(withHelp(`${code} and more`)) ?? [];
    return anchorOf(named).replace(".md#", ".html#");
  });
  const [address = "", last = ""] = (anchors.at(-1) ?? "").split("#");
  await browser.open(`${site}${address}#${last}`);
  for (const [at, anchor] of anchors.entries()) {
    const id = JSON.stringify(anchor.slice(address.length + 1));
    const heading = await browser.evaluate<string>(`document.getElementById(${id}).innerText`);
    assert.ok(heading.startsWith(`${codes[at]}: `), `${anchor}: ${heading}`);
  }
  await until("the browser shows the heading", () =>
    browser.evaluate<boolean>(
      `((box) => box.top > 0 && box.bottom < innerHeight)(document.getElementById("${last}").getBoundingClientRect())`,
    ),
  );
  assertQuiet();
});

test("finds a code by the search, and opens it", async () => {
  await browser.open(site);
  const press = (key: string) => browser.send("Input.dispatchKeyEvent", { type: "keyDown", key });
  await until("the search opens", async () => {
    await press("/");
    return await browser.evaluate<boolean>(`!!document.querySelector("#localsearch-input")`);
  });
  await browser.send("Input.insertText", { text: "GPS218" });
  await until("the search finds the code", () =>
    browser.evaluate<boolean>(
      `/GPS218/.test(document.querySelector(".VPLocalSearchBox .result")?.innerText ?? "")`,
    ),
  );
  await press("Enter");
  await until("the code's page opens", () =>
    browser.evaluate<boolean>(`location.href.endsWith("/docs/reference/errors.html#gps218")`),
  );
  assertQuiet();
});

test("is dark where the reader's system is dark", async () => {
  for (const value of ["dark", "light"]) {
    const features = [{ name: "prefers-color-scheme", value }];
    await browser.send("Emulation.setEmulatedMedia", { features });
    await browser.open(site);
    const [red = 255] = await browser.evaluate<number[]>(
      `getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)`,
    );
    assert.equal(red < 128, value === "dark", `${value}: ${red}`);
  }
  assertQuiet();
});
