import assert from "node:assert/strict";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { imageBoms } from "#tools/release/boms/image-boms.ts";
import { buildLayout, bundlesOf } from "#tools/release/image.ts";
import { readLayout } from "#tools/release/layout.ts";
import { npmBoms } from "#tools/release/boms/npm-boms.ts";
import { Unready } from "#tools/release/ready.ts";
import { run } from "../cluster/run.ts";
import { architectures, writeBase } from "./base.ts";

const repository = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "image-"));
const base = join(folder, "base");
const created = Date.UTC(2026, 0, 2) / 1000;
const labels = { "org.opencontainers.image.version": "1.2.3" };

before(() => writeBase(base));
after(() => rmSync(folder, { recursive: true }));

/**
 * Builds the image in a new folder whose files have this time and mode. Returns the image's layout.
 */
async function build(name: string, mode: number, age: Date): Promise<string> {
  const [context, layout] = [join(folder, name), join(folder, `${name}.oci`)];
  for (const file of ["Containerfile", ...bundlesOf(repository)]) {
    mkdirSync(dirname(join(context, file)), { recursive: true });
    copyFileSync(join(repository, file), join(context, file));
    chmodSync(join(context, file), mode);
    utimesSync(join(context, file), age, age);
  }
  await buildLayout({ context, layout, architectures, base, created, labels });
  return layout;
}

test("builds the same digest in two folders whose files have different times and modes", async () => {
  const first = await build("one", 0o644, new Date("2001-02-01"));
  const other = await build("other", 0o600, new Date("2026-02-01"));
  assert.equal(readLayout(other).digest, readLayout(first).digest);
  assert.deepEqual(readLayout(first).platforms, atHome(readLayout(other).platforms));

  const { platforms } = readLayout(first);
  assert.deepEqual(
    platforms.map(({ architecture, config }) => [architecture, config.architecture]),
    architectures.map((name) => [name, name]),
  );
  assert.notEqual(platforms[0]?.layers[0], platforms[1]?.layers[0], "each has its own base");
  assert.equal(platforms[0]?.layers[1], platforms[1]?.layers[1], "our layer is the same in both");
  for (const { config, annotations } of platforms) {
    assert.equal(config.created, "2026-01-02T00:00:00Z");
    assert.deepEqual(
      Object.keys(config.config.Labels ?? {}).toSorted(),
      ["description", "licenses", "title", "version"].map(
        (name) => `org.opencontainers.image.${name}`,
      ),
    );
    assert.equal(config.config["User"], "0");
    assert.match(annotations["org.opencontainers.image.base.digest"] ?? "", /^sha256:/);
  }
});

test("puts the bundles into our layer, owned by root, readable, and with the commit's time", async () => {
  const { platforms } = readLayout(join(folder, "one.oci"));
  const list = ["tar", "--utc", "--full-time", "--numeric-owner", "-tvzf"];
  const listed = await run([...list, platforms[0]?.layers[1] ?? ""]);
  const files = listed.split("\n").filter((line) => line.startsWith("-"));
  assert.deepEqual(
    files.map((line) => line.replace(/ +\d+ 2026/, " SIZE 2026")),
    bundlesOf(repository)
      .map((bundle) => `-rw-r--r-- 0/0 SIZE 2026-01-02 00:00:00 ${bundle.replace("dist/", "app/")}`)
      .toSorted(),
  );
});

test("adds at most 1.2 MiB to the base image", () => {
  const { platforms } = readLayout(join(folder, "one.oci"));
  const sizes = platforms.map(({ layers }) =>
    layers.slice(1).reduce((sum, layer) => sum + statSync(layer).size, 0),
  );
  assert.ok(Math.max(...sizes) < 1.2 * 2 ** 20, `${sizes.join(", ")} bytes`);
});

test("pins the base by its digest, and runs no program in an instruction of the Containerfile", () => {
  const text = readFileSync(join(repository, "Containerfile"), "utf8");
  assert.match(text, /^ARG BASE=\S+:nonroot@sha256:[0-9a-f]{64}$/m);
  const instructions = text.match(/^[A-Z]+(?= )/gm) ?? [];
  const harmless = new Set("ARG FROM LABEL COPY WORKDIR USER ENTRYPOINT CMD".split(" "));
  assert.deepEqual(
    instructions.filter((instruction) => !harmless.has(instruction)),
    [],
  );
});

test("reports in one line that a base cannot be pulled, and what to do", async () => {
  const [context, layout] = [join(folder, "lost"), join(folder, "lost.oci")];
  const pinned = `localhost:1/base:nonroot@sha256:${"0".repeat(64)}`;
  mkdirSync(context);
  writeFileSync(join(context, "Containerfile"), `ARG BASE=${pinned}\nFROM \${BASE}\n`);
  await assert.rejects(
    buildLayout({ context, layout, architectures, created, labels }),
    (error) =>
      error instanceof Unready &&
      error.message.startsWith(`${pinned}: cannot be pulled; give --base LAYOUT: `) &&
      error.message.endsWith("connection refused") &&
      !error.message.includes("\n"),
  );
  assert.ok(!existsSync(layout));
});

test("the image's bills of materials list the packages, and each architecture's Node and base", async () => {
  const image = readLayout(join(folder, "one.oci"));
  const all = await npmBoms(repository);
  const zod = all.cyclonedx.components.find(({ name }) => name === "zod")?.["bom-ref"] ?? "";
  const { cyclonedx, spdx } = await imageBoms(all, new Set([zod]), image, "nodejs");
  const { version } = process;
  const node = architectures.map(
    (architecture) => `pkg:generic/node@${version.slice(1)}?arch=${architecture}`,
  );
  const bases = image.platforms.map(({ architecture, annotations }) => {
    const digest = annotations["org.opencontainers.image.base.digest"] ?? "";
    return `pkg:oci/nodejs@${encodeURIComponent(digest)}?arch=${architecture}`;
  });
  assert.deepEqual(
    cyclonedx.components.map((component) => String(component["purl"])).toSorted(),
    [`pkg:npm/${zod}`, ...node, ...bases].toSorted(),
  );
  assert.equal(
    cyclonedx.metadata.component["purl"],
    `pkg:oci/global-pull-secret@${encodeURIComponent(image.digest)}`,
  );
  const contained = spdx.relationships.filter(
    (relationship) => relationship.relationshipType === "CONTAINS",
  );
  assert.equal(contained.length, 4);
  const ids = new Set(spdx.packages.map(({ SPDXID }) => SPDXID));
  for (const { relatedSpdxElement } of contained) assert.ok(ids.has(relatedSpdxElement));
});

/** Replaces paths of one layout by paths of the other layout. */
function atHome<T>(value: T): T {
  return JSON.parse(JSON.stringify(value).replaceAll("other.oci", "one.oci")) as T;
}
