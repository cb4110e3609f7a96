import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cluster } from "#kube/client/cluster.ts";
import { Refused } from "../terminal/io.ts";
import { Places } from "./place.ts";

const widgets = { name: "widgets", kind: "Widget", namespaced: true };
const status = { ...widgets, name: "widgets/status" };

/**
 * Fakes the discovery of one API group. Each request gets the next answer. The last answer repeats.
 */
function serving(...answers: readonly (readonly object[])[]) {
  const asked: string[] = [];
  const get = (path: string) => {
    const resources = answers[Math.min(asked.length, answers.length - 1)];
    asked.push(path);
    return Promise.resolve({ resources });
  };
  return { asked, places: new Places({ get } as unknown as Cluster) };
}

const widget = (namespace?: string) => ({
  apiVersion: "example.com/v1",
  kind: "Widget",
  metadata: { name: "one", ...(namespace !== undefined && { namespace }) },
});

test("waits for an unknown kind only if its CRD is in the same manifests", async () => {
  const soon = serving([], [], [status, widgets]);
  const place = await soon.places.of(widget("web"), true);
  assert.equal(place.path, "/apis/example.com/v1/namespaces/web/widgets/one");
  assert.equal(soon.asked.length, 3);
  const never = serving([]);
  const refused = new Refused("example.com/v1 Widget: is not served; apply its CRD first");
  await assert.rejects(never.places.of(widget(), false), refused);
  assert.equal(never.asked.length, 1);
});

test("reads discovery once, and uses namespace default for a namespaced object without a namespace", async () => {
  const { asked, places } = serving([widgets, { name: "zones", kind: "Zone", namespaced: false }]);
  const ofWidget = await places.of(widget(), false);
  const ofZone = await places.of({ ...widget("web"), kind: "Zone" }, false);
  assert.equal(ofWidget.path, "/apis/example.com/v1/namespaces/default/widgets/one");
  assert.equal(ofZone.path, "/apis/example.com/v1/zones/one");
  assert.deepEqual(asked, ["/apis/example.com/v1"]);
});
