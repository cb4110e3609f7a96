/** SECURITY.md lists what the agent may write and calls; both are compared with the code. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import test from "node:test";
import { daemonSet } from "#controller/objects/daemonset.ts";
import { policyWith } from "#controller/policy/policy.fixture.ts";

const page = readFileSync("SECURITY.md", "utf8");

/** The cells of the table whose header row begins like this. */
function table(header: string): string[][] {
  const start = page.indexOf(`| ${header}`);
  assert.ok(start >= 0, header);
  const [rows = ""] = page.slice(start).split("\n\n");
  return rows
    .split("\n")
    .slice(2)
    .map((row) => row.split("|").slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()));
}

test("SECURITY.md names every path that agents may write, in every mode", () => {
  const run = { image: "x", imagePullSecrets: [], probationSeconds: 5 };
  const { agent } = policyWith();
  const named = table("the agent may write").map(([path = ""]) => path.replaceAll("`", ""));
  const mark = "--allow-fs-write=";
  for (const mode of ["Restart", "Reread"] as const) {
    const pod = daemonSet({ ...agent, ...run, delivery: { mode } }).spec?.template.spec;
    const flags = pod?.containers[0]?.command?.filter((flag) => flag.startsWith(mark)) ?? [];
    assert.deepEqual(
      named.toSorted(),
      flags.map((flag) => flag.slice(mark.length)).toSorted(),
      mode,
    );
  }
});

test("SECURITY.md names every call over D-Bus, and every property that is read", () => {
  const files = globSync("agent/systemd/*.ts").filter((file) => !file.includes(".test."));
  const code = files.map((file) => readFileSync(file, "utf8")).join("\n");
  const found = (pattern: RegExp): string[] => [
    ...new Set([...code.matchAll(pattern)].map(([, name = ""]) => name)),
  ];
  const rows = table("call | of");
  // Hello is dbus-next's own.
  const calls = rows.flatMap(([names = ""]) => names.split(", ").map((one) => one.slice(1, -1)));
  assert.deepEqual(calls.toSorted(), ["Hello", ...found(/member: "(\w+)"/g)].toSorted());
  const read = rows.find(([names]) => names === "`Get`")?.[1] ?? "";
  const properties = [
    ...found(/get\("(?:Unit|Service)", "(\w+)"\)/g),
    ...found(/stateChange = "(\w+)"/g),
    ...found(/Manager`, "(\w+)"\)/g),
  ];
  assert.ok(properties.length > 10, "found none");
  for (const property of properties) assert.match(read, new RegExp(`\\b${property}\\b`));
  const named = read.match(/\b[A-Z]\w+[a-z]\w*\b/g) ?? [];
  assert.deepEqual([...new Set(named)].toSorted(), [...new Set(properties)].toSorted());
});
