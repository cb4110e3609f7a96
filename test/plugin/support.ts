/** `support-bundle` with a real API server, and a password in every field that others can write. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { declare, document, paths, wipe } from "../controller/plane.ts";
import { password, type PluginRig } from "./rig.ts";

type Bundle = Readonly<{
  missing: readonly Readonly<{ what: string; why: string }>[];
  deployment?: Readonly<{ template: Readonly<{ containers: readonly { args: string[] }[] }> }>;
  events?: readonly Readonly<{ about: string; message: string }>[];
  secrets: readonly Readonly<{ name: string; keys: string[] }>[];
}>;

export function supportTests({ on, plugin }: PluginRig): void {
  test("support-bundle contains useful facts but no credential, even if an administrator put a credential into other fields", async () => {
    const kubectl = (...args: string[]) => on().cluster.kubectl("-n", "kube-system", ...args);
    await declare(on(), document({ "a.io": `robot:${password}` }));
    const controller = ["deployment", "global-pull-secret-controller"];
    const container = {
      name: "controller",
      args: [`--original=kube-system/${password}`],
      env: [{ name: "PLANTED", value: password }],
    };
    const template = {
      metadata: { annotations: { mine: password } },
      spec: { containers: [container] },
    };
    await kubectl("patch", ...controller, "-p", JSON.stringify({ spec: { template } }));
    await kubectl("annotate", ...controller, `globalpullsecret.io/note=${password}`);
    const event = {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: "planted", namespace: "kube-system" },
      involvedObject: { kind: "Secret", name: "additional-pull-secret", namespace: "kube-system" },
      type: "Warning",
      reason: "Planted",
      message: `it is ${password}`,
    };
    await on().api.create("/api/v1/namespaces/kube-system/events", event);

    const whole = await plugin("support-bundle");
    assert.deepEqual([whole.code, whole.err], [0, ""]);
    const pair = Buffer.from(`robot:${password}`).toString("base64");
    for (const secret of [password, pair, btoa(password)])
      assert.ok(!whole.out.includes(secret), whole.out);
    const bundle = JSON.parse(whole.out) as Bundle;
    assert.deepEqual(bundle.deployment?.template.containers[0]?.args, [
      "--original=kube-system/[redacted]",
    ]);
    const reported = bundle.events?.find(({ message }) => message.startsWith("it is"));
    assert.deepEqual(
      [reported?.about, reported?.message],
      ["Secret/additional-pull-secret", "it is [redacted]"],
    );
    assert.deepEqual(bundle.secrets[0]?.keys, [".dockerconfigjson"]);

    const little = await plugin("support-bundle -o yaml", "", "nobody");
    assert.equal(little.code, 0, little.err);
    assert.match(little.out, /what: globalpullsecret\n\s+why: .*403 Forbidden/);
    assert.match(little.out, /what: secret additional-pull-secret/);
    await kubectl("delete", "event", "planted");
    await wipe(on());
    assert.equal(await on().api.get(paths.additional), undefined);
  });
}
