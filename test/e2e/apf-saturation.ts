/**
 * In a priority level without seats, the API server runs one request at a time (queueset.go,
 * canAccommodateSeatsLocked). It refuses only requests that run in parallel to it. This client
 * therefore sends a request that never ends, because its body is never sent, and so holds the only
 * place.
 */
import { request, type RequestOptions } from "node:https";
import { loadKubeConfig } from "#kube/load.ts";
import type { Cluster } from "../cluster/cluster.ts";

/**
 * Holds the place as this user, and takes it again whenever it is lost, until it is disposed of.
 */
export async function saturate(cluster: Cluster, user: string): Promise<Disposable> {
  const config = loadKubeConfig(cluster.kubeconfig);
  const options: RequestOptions = { method: "POST" };
  await config.applyToHTTPSOptions(options);
  // Not as the administrator, whose requests bypass all priority levels. Every user may send this
  // request.
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
    // The server refuses the request while another one is inside, and ends it after one minute.
    // Then this client sends it again.
    asked.on("response", (response) => void response.resume());
    asked.on("error", () => {});
    asked.on("close", () => setTimeout(ask, 20));
    asked.flushHeaders();
  };
  ask();
  return { [Symbol.dispose]: () => stop.abort() };
}
