import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { interpret, readMounted } from "./mounted.ts";

const good = {
  revision: "7",
  ".dockerconfigjson": '{"auths":{"a.io":{"auth":"dTpw"}}}',
  sources: '{"a.io":"additional"}',
};

function mount(t: TestContext, files: Readonly<Record<string, string>>): string {
  const directory = mkdtempSync(join(tmpdir(), "gps-mounted-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  mkdirSync(join(directory, "..1"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, "..1", name), text);
  symlinkSync("..1", join(directory, "..data"));
  return directory;
}

test("the three files are one document", async (t) => {
  const mounted = readMounted(mount(t, good));
  assert.ok(mounted.kind === "document");
  assert.equal(mounted.revision, 7);
  assert.equal(mounted.release, false);
  assert.deepEqual([...mounted.wanted.entries], [["a.io", { value: { auth: "dTpw" }, original: false }]]);
});

test("a mount that is missing, half there or swapped away is waited for", async (t) => {
  assert.equal(readMounted("/nonexistent").kind, "incomplete");
  for (const missing of Object.keys(good)) {
    const files = Object.fromEntries(Object.entries(good).filter(([name]) => name !== missing));
    assert.equal(readMounted(mount(t, files)).kind, "incomplete", missing);
  }
  const swapped = mount(t, good);
  rmSync(join(swapped, "..1"), { recursive: true });
  assert.equal(readMounted(swapped).kind, "incomplete");
  symlinkSync("..2", join(swapped, "tmp"));
  renameSync(join(swapped, "tmp"), join(swapped, "..data"));
  assert.equal(readMounted(swapped).kind, "incomplete");
});

test("what is mounted but cannot be applied is refused with a reason that holds no credential", () => {
  const huge = " ".repeat(1024 * 1024 + 1);
  const table: readonly (readonly [files: Partial<typeof good>, kind: string, why?: RegExp])[] = [
    [{ revision: "" }, "incomplete"],
    [{ revision: "x" }, "incomplete"],
    [{ revision: "-1" }, "incomplete"],
    [{ ".dockerconfigjson": "{" }, "refused"],
    [{ ".dockerconfigjson": '{"auths":{"a.io":{"auth":"cGxhbnRlZA=="}}}' }, "refused", /a\.io/],
    [{ ".dockerconfigjson": huge }, "refused", /1 MiB/],
    [{ sources: "[]" }, "refused", /sources/],
    [{ sources: huge }, "refused", /1 MiB/],
  ];
  for (const [change, kind, why = /./] of table) {
    const { revision, sources, ".dockerconfigjson": document } = { ...good, ...change };
    const mounted = interpret(Buffer.from(revision), Buffer.from(document), Buffer.from(sources));
    assert.equal(mounted.kind, kind, JSON.stringify(change).slice(0, 80));
    if (!("why" in mounted)) continue;
    assert.match(mounted.why, why);
    assert.doesNotMatch(mounted.why, /cGxhbnRlZA|planted/);
  }
});

function of(sources: string) {
  return interpret(Buffer.from("1"), Buffer.from(good[".dockerconfigjson"]), Buffer.from(sources));
}

test("an entry that sources do not name can be taken back like an additional one; only originals make a release", () => {
  const named = of('{"a.io":"original"}');
  assert.ok(named.kind === "document" && named.release && named.wanted.entries.get("a.io")?.original === true);
  const unnamed = of("{}");
  assert.ok(unnamed.kind === "document" && unnamed.wanted.entries.get("a.io")?.original === false);
});
