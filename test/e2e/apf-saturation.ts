/**
 * The API server lets one request at a time through a priority level without seats (queueset.go,
 * canAccommodateSeatsLocked): only who asks in parallel is refused. A request that never ends, its
 * body is never sent, keeps even that one place.
 */
import { request, type RequestOptions } from "node:https";
import { loadKubeConfig } from "#kube/load.ts";
import type { Cluster } from "../cluster/cluster.ts";

/** Takes the place as this user, and again whenever it is lost, until it is disposed of. */
export async function saturate(cluster: Cluster, user: string): Promise<Disposable> {
  const config = loadKubeConfig(cluster.kubeconfig);
  const options: RequestOptions = { method: "POST" };
  await config.applyToHTTPSOptions(options);
  // Not as the administrator, whom no priority level holds back; this is what every user may ask.
  options.headers = {
    "Impersonate-User": user,
    "Content-Type": "application/json",
    "Content-Length": "1000",
  };
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  const stop = new AbortController();
  const ask = () => {
    if (stop.signal.aborted) return;
    const asked = request(`${cluster.server}${path}`, {
      ...options,
      signal: stop.signal,
    });
    // Refused while somebody else is inside, cut off after the server's minute: it asks again.
    asked.on("response", (response) => void response.resume());
    asked.on("error", () => {});
    asked.on("close", () => setTimeout(ask, 20));
    asked.flushHeaders();
  };
  ask();
  return { [Symbol.dispose]: () => stop.abort() };
}
