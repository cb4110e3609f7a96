/** What cannot be judged in kubeadm's file may be our flags: no kubelet may lose what they name. */
import assert from "node:assert/strict";
import { existsSync, linkSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { kubeadmFlagsFile, nodeFiles, providerFiles } from "#contract/names.ts";
import { withFlags } from "#pullsecret/provider/flags.ts";
import { crashed, decide, facts, idle, tried, withdrawn } from "#agent/facts/facts.fixture.ts";
import { type Journal, nothingOwned } from "#agent/journal/journal.ts";
import { installProvider } from "#test/faults/provider.ts";
import { registeredProvider } from "./provider.ts";

const delivery = registeredProvider("All");
const without = 'KUBELET_KUBEADM_ARGS="--v=2"\n';
const inForce: Journal = { ...idle, owned: { ...nothingOwned, flags: true } };
const rolledBack: Journal = {
  ...tried(3, 3_600_000),
  phase: "restoring",
  owned: inForce.owned,
};

/** A node with our provider and its flags. */
function registered(t: TestContext) {
  const root = mkdtempSync(join(tmpdir(), "gps-flags-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  installProvider(root);
  mkdirSync(join(root, nodeFiles.folder));
  const env = join(root, kubeadmFlagsFile);
  writeFileSync(env, withFlags(without));
  const found = () => {
    const file = delivery.read(root);
    return "plan" in file ? file : assert.fail("cannot be read");
  };
  return { root, env, found };
}

const spoilt: readonly (readonly [what: string, spoil: (env: string) => void])[] = [
  ["it has a second name", (env) => linkSync(env, `${env}.bak`)],
  ["its line is there twice", (env) => writeFileSync(env, withFlags(without).repeat(2))],
  [
    "another provider beside ours",
    (env) => writeFileSync(env, withFlags(without.replace("--v", "--image-credential-provider-x"))),
  ],
];

for (const [what, spoil] of spoilt) {
  test(`a withdrawal leaves the provider's files, and is not said, while kubeadm's file may name them: ${what}`, async (t) => {
    const { root, env, found } = registered(t);
    spoil(env);
    // The password goes at once, all the same.
    writeFileSync(join(root, providerFiles.answer), "{}", { mode: 0o600 });
    const journals = { withdrawn: { ...inForce, content: "none" }, inForce, lost: undefined };
    for (const [when, journal] of Object.entries(journals)) {
      const first = found().plan(journal, withdrawn, journal === undefined);
      assert.deepEqual(first.first ?? [], []);
      assert.ok(first.last?.every(({ file }) => !("absent" in file)) ?? true, when);
      await delivery.write({ ...first, kept: true }, found(), root);
      const known = journal ? { journal } : { lost: true };
      const step = decide(facts({ mounted: withdrawn, file: found(), ...known }));
      assert.equal(`${step.action} ${step.code}`, "wait GPS236", when);
      assert.match(step.detail ?? "", /kubeadm-flags\.env/);
    }
    assert.ok(existsSync(join(root, providerFiles.script)));
    rmSync(`${env}.bak`, { force: true });
    writeFileSync(env, withFlags(without));
    const away = decide(facts({ mounted: withdrawn, file: found(), journal: inForce }));
    assert.equal(`${away.action} ${away.code}`, "apply GPS226");
  });

  test(`a rollback goes on until the flags are out, and revives the kubelet meanwhile: ${what}`, (t) => {
    const { env, found } = registered(t);
    spoil(env);
    const look = () => facts({ journal: rolledBack, file: found(), unit: crashed, healthy: false });
    const revival = decide(look());
    assert.ok(revival.action === "restart");
    assert.equal(revival.journal.phase, "restoring");
    const rest = decide({ ...look(), journal: { kind: "journal", journal: revival.journal } });
    assert.equal(`${rest.action} ${rest.code}`, "wait GPS236");
    rmSync(`${env}.bak`, { force: true });
    writeFileSync(env, withFlags(without));
    const step = decide(look());
    assert.ok(step.action === "restore");
    assert.deepEqual(
      step.plan.last?.map(({ file }) => "bytes" in file && file.bytes.toString()),
      [without],
    );
  });
}

test("what surely names nothing of ours holds up neither: another's provider, no file, or nothing of ours there", (t) => {
  const { root, env, found } = registered(t);
  const away = () => found().plan({ ...inForce, owned: nothingOwned }, withdrawn, false);
  const outcomes = () => [away().unfit, found().planRestore(rolledBack).unfit];
  writeFileSync(env, without.replace("--v", "--image-credential-provider-x"));
  assert.deepEqual(outcomes(), [undefined, undefined]);
  assert.ok(away().last?.some(({ file }) => "absent" in file));
  rmSync(env);
  assert.deepEqual(outcomes(), [undefined, undefined]);
  writeFileSync(env, withFlags(without).repeat(2));
  rmSync(join(root, providerFiles.folder), { recursive: true });
  assert.equal(away().unfit, undefined);
});
