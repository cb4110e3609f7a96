/**
 * A watch stays open, but sends nothing. The controller replaces a watch after 90 s without any
 * event, because a healthy watch sends a bookmark every minute.
 */
import { after, before, test } from "node:test";
import * as plane from "./plane.ts";
import { content } from "./plane.ts";
import { steer } from "./steer.ts";
import { TcpProxy } from "./tcp-proxy.ts";

let on: plane.Plane;
before(async () => void (on = await plane.startPlane()));
after(() => on[Symbol.asyncDispose]());

test("publishes the next change when all watches and connections hang", async () => {
  await using proxy = await TcpProxy.before(on.cluster.server);
  const kubeconfig = plane.kubeconfigBehind(proxy, on);
  await steer(on, "100%");
  await using controller = plane.startController(kubeconfig);
  await plane.declare(on, content("one"));
  await plane.untilPublished(on, content("one"));
  await plane.untilEvent(on, "Accepted");
  proxy.freeze();
  await plane.declare(on, content("two"));
  await plane.untilPublished(on, content("two"), 150_000);
  await controller.stop();
});
