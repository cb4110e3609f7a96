/** `apply`, `history` and `undo` on a real API server, with other writers of the same Secret. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import { declare, document, paths, wipe } from "../controller/plane.ts";
import { password, type PluginRig } from "./rig.ts";

export function replaceTests({ on, plugin }: PluginRig): void {
  const stored = async (): Promise<string> => {
    const secret = await on().api.get<V1Secret>(paths.additional);
    return atob(secret?.data?.[".dockerconfigjson"] ?? "");
  };
  const secretOf = (name: string, key: string, text: string, type: string) => {
    const literal = `--from-literal=${key}=${text}`;
    const place = ["-n", "kube-system", `--type=${type}`];
    return on().cluster.kubectl("create", "secret", "generic", name, literal, ...place);
  };
  const create = (text: string) =>
    secretOf("additional-pull-secret", ".dockerconfigjson", text, "kubernetes.io/dockerconfigjson");
  const first = document({ "a.io": "u:p", "b.io": "u:p" });
  const second = document({ "a.io": `u:${password}`, "c.io": "u:p" });

  test("apply replaces what a person wrote, and asks a tool's owner to force", async () => {
    await wipe(on());
    await create(first);
    const unasked = await plugin("apply -f -", second);
    assert.equal(unasked.code, 2, unasked.err);
    const dry = await plugin("apply -f - --dry-run=server", second);
    assert.equal(
      dry.out,
      "  added    c.io\n  changed  a.io\n  removed  b.io\n" +
        "additional-pull-secret: applied (registries: 2, server dry run)\n",
      dry.err,
    );
    assert.equal(await stored(), first);
    const done = await plugin("apply -f - --yes --wait=false", second);
    assert.deepEqual([done.code, await stored()], [0, second], done.err);
    const added = await plugin("add d.io -u robot --password-stdin", password);
    assert.equal(added.code, 0, added.err);
    const again = await plugin("apply -f - --yes --wait=false", second);
    assert.deepEqual([again.code, await stored()], [0, second], again.err);

    await declare(on(), first);
    const refused = await plugin("apply -f - --yes --wait=false", second);
    assert.deepEqual([refused.code, await stored()], [1, first]);
    assert.match(refused.err, /declared by "test", which would revert the change; nothing is/);
    const forced = await plugin("apply -f - --yes --wait=false --force-conflicts", second);
    assert.deepEqual([forced.code, await stored()], [0, second], forced.err);

    const noRight = await plugin("apply -f - --yes", first, "nobody");
    assert.equal(noRight.code, 1);
    assert.match(noRight.err, /403 Forbidden.*; ask for that right/);
    for (const { out, err } of [dry, done, again, refused, forced, noRight])
      assert.ok(!`${out}${err}`.includes(password));
  });

  test("undo creates a deleted Secret again from the controller's state", async () => {
    await wipe(on());
    const state = "global-pull-secret-state";
    await secretOf(state, "source.additional", first, "Opaque");
    const label = "app.kubernetes.io/managed-by=global-pull-secret";
    await on().cluster.kubectl("label", "secret", state, "-n", "kube-system", label);
    const listed = await plugin("history");
    assert.match(listed.out, /\n {2}deleted +- +0 +-a\.io -b\.io\n {2}\w+ +- +2 +-\n$/, listed.err);
    const undone = await plugin("undo --yes --wait=false");
    assert.deepEqual([undone.code, await stored()], [0, first], undone.err);
    const nothing = await plugin("undo --yes");
    assert.equal(nothing.code, 1);
    assert.match(nothing.err, /no earlier document is kept/);
    await wipe(on());
  });
}
