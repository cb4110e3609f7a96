/**
 * Causes each problem for which docs/extend/tenants.md has a recipe, and runs the recipe's
 * commands.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { managementAccount } from "#contract/names.ts";
import { until } from "../cluster/await.ts";
import { blocksBelow, deskFor, recipes } from "./page.ts";
import type { Rig } from "./rig.ts";
import {
  base64,
  copyOf,
  fill,
  grant,
  syncSecret,
  untilReason,
  untilSecret,
  type Management,
} from "./sync.ts";

const planted = "planted-1";
const expected = { data: { a: base64(planted) } };
const wrapped = syncSecret("wrapped", { stringData: { a: planted } });

/** Runs a recipe, and asserts that its output does not contain the Secret's value. */
async function ask(rig: Rig, recipe: string): Promise<string> {
  const reported = await deskFor(rig).run(recipe);
  assert.ok(!reported.includes(planted) && !reported.includes(base64(planted)));
  return reported;
}

/** Removes the tenant's label from its namespace. When you dispose of the result, restores it. */
async function unlabel({ cluster }: Management): Promise<AsyncDisposable> {
  const label = (value: string) =>
    cluster.kubectl("label", "namespace", "tenant-a", `globalpullsecret.io/tenant${value}`);
  await label("-");
  return { [Symbol.asyncDispose]: async () => void (await label("=tenant-a")) };
}

/**
 * Removes the management side's rights in the tenant's namespace. When you dispose of the result,
 * restores them.
 */
async function revoke(management: Management): Promise<AsyncDisposable> {
  const { cluster } = management;
  const its = ["-n", "tenant-a", "--timeout=30s"];
  await cluster.kubectl("delete", "rolebinding", managementAccount, ...its);
  return {
    async [Symbol.asyncDispose]() {
      await grant(management, "tenant-a");
      await cluster.kubectl("delete", "resourcequota", "--all", "-n", "tenant-a");
    },
  };
}

export function recipeTests(rig: () => Rig): void {
  test("L31: shows the code and the log line when a copy is refused", async () => {
    const on = rig();
    const { management, tenant } = on;
    on.start();
    {
      await using _full = await fill(management, "SyncSecret");
      await tenant.cluster.apply(wrapped);
      const object = await untilReason(tenant, "wrapped", "Refused");
      assert.equal(await copyOf(management, object), undefined);
      const line = /"name":"wrapped".*"msg":"GPS466: /;
      await until("the program has reported it", () => line.test(on.output()));
      const reported = await ask(on, recipes().notThere);
      assert.match(reported, /^GPS466: .*403 Forbidden.*ResourceQuota/);
      assert.match(reported, /^\{.*"name":"wrapped".*"msg":"GPS466: /m);
    }
    await untilSecret(tenant, management, "wrapped", expected);
    assert.match(
      await ask(on, recipes().notThere),
      /^Secret [-0-9a-f]+ has the declared content\n/,
    );
  });

  test("L31: when a copy has no Secret, shows that the namespace lacks its label", async () => {
    const on = rig();
    const { management, tenant } = on;
    on.start();
    const forsaken = () => on.output().split("no longer a tenant's namespace").length;
    await tenant.cluster.apply(syncSecret("served", {}));
    await untilReason(tenant, "served", "Synced");
    const before = forsaken();
    {
      await using _bare = await unlabel(management);
      await until("the namespace is no longer served", () => forsaken() > before);
      await tenant.cluster.apply(wrapped);
      await untilReason(tenant, "wrapped", "Waiting");
      const reported = await ask(on, recipes().noSecret);
      assert.match(reported, /^[-0-9a-f]{36} +wrapped +<none>$/m);
      assert.doesNotMatch(reported, /^namespace\/tenant-a$/m);
      assert.match(reported, /^\{.*"namespace":"tenant-a".*no longer a tenant's namespace/m);
    }
    await untilSecret(tenant, management, "wrapped", expected);
    await untilReason(tenant, "wrapped", "Synced");
    const well = await ask(on, recipes().noSecret);
    assert.match(well, /^[-0-9a-f]{36} +wrapped +Secret [-0-9a-f]+ has the declared content$/m);
    assert.match(well, /^namespace\/tenant-a\n(.|\n)*^yes\n(.|\n)*the Secret is created/m);
  });

  test("L31: when a copy has no Secret, shows the missing rights, or the quota that refuses the Secret", async () => {
    const on = rig();
    const { management, tenant } = on;
    on.start();
    {
      await using _revoked = await revoke(management);
      await tenant.cluster.apply(wrapped);
      await untilReason(tenant, "wrapped", "Waiting");
      // `kubectl auth can-i` exits with 1 if the answer is no.
      await assert.rejects(ask(on, recipes().noSecret), /^namespace\/tenant-a\n(.|\n)*^no\b/m);
    }
    await untilSecret(tenant, management, "wrapped", expected);
    await using _full = await fill(management, "Secret");
    await tenant.cluster.apply(syncSecret("second", { stringData: { a: planted } }));
    await untilReason(tenant, "second", "Refused");
    const line = /"tenant":"tenant-a".*"msg":"GPS466: /;
    await until("the program has reported it", () => line.test(on.output()));
    const reported = await ask(on, recipes().noSecret);
    assert.match(reported, /^[-0-9a-f]{36} +second +GPS466: .*403 Forbidden/m);
    assert.match(reported, /^\{.*"tenant":"tenant-a".*"msg":"GPS466: /m);
  });

  test("L31: shows which generation the status describes when a change has no effect", async () => {
    const on = rig();
    const { management, tenant } = on;
    on.start();
    await tenant.cluster.apply(wrapped);
    await untilSecret(tenant, management, "wrapped", expected);
    await untilReason(tenant, "wrapped", "Synced");
    assert.match(await ask(on, recipes().notFollowing), /^wrapped +1 +1 +Synced$/m);
    await on.stop();
    await tenant.cluster.apply(syncSecret("wrapped", { stringData: { a: "2" } }));
    assert.match(await ask(on, recipes().notFollowing), /^wrapped +2 +1 +Synced$/m);
    on.start();
    await untilSecret(tenant, management, "wrapped", { data: { a: base64("2") } });
    await untilReason(tenant, "wrapped", "Synced");
    assert.match(await ask(on, recipes().notFollowing), /^wrapped +2 +2 +Synced$/m);
  });

  test("L17, L31: finds with the page's commands the owner of a Secret, and the names of orphans but no other names", async () => {
    const on = rig();
    const { management, tenant } = on;
    on.start();
    await tenant.cluster.apply(wrapped);
    const secret = await untilSecret(tenant, management, "wrapped", expected);
    const row = new RegExp(`tenant-a +${secret.metadata?.name}.* default +wrapped\n`);
    assert.match(await ask(on, recipes().whose), row);
    const [ownerless, strays] = blocksBelow("### Orphans");
    const find = async () => [
      await ask(on, ownerless?.body ?? ""),
      await ask(on, strays?.body ?? ""),
    ];
    assert.deepEqual(await find(), ["", ""]);
    const labels = { "app.kubernetes.io/managed-by": "global-pull-secret-sync" };
    const lost = { name: "lost", namespace: "tenant-a", labels };
    await management.cluster.apply({ apiVersion: "v1", kind: "Secret", metadata: lost });
    await management.cluster.apply(syncSecret("stray", { stringData: { a: "1" } }, "tenant-a"));
    assert.deepEqual(await find(), ["lost\n", "stray\n"]);
    await management.cluster.kubectl("delete", "secret/lost", "syncsecret/stray", "-n", "tenant-a");
  });
}
