import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cluster } from "#kube/client/cluster.ts";
import { Places } from "./place.ts";

const widgets = { name: "widgets", kind: "Widget", namespaced: true };
const status = { ...widgets, name: "widgets/status" };

/** Fakes the discovery of one API group. */
function serving(...resources: readonly object[]) {
  const asked: string[] = [];
  const get = (path: string) => {
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

test("reads discovery once, and uses namespace default for a namespaced object without a namespace", async () => {
  const { asked, places } = serving(status, widgets, {
    name: "zones",
    kind: "Zone",
    namespaced: false,
  });
  const ofWidget = await places.of(widget(), false);
  const ofZone = await places.of({ ...widget("web"), kind: "Zone" }, false);
  assert.equal(ofWidget.path, "/apis/example.com/v1/namespaces/default/widgets/one");
  assert.equal(ofZone.path, "/apis/example.com/v1/zones/one");
  assert.deepEqual(asked, ["/apis/example.com/v1"]);
});
