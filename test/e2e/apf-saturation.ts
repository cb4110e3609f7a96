/**
 * In a priority level without seats, the API server runs one request at a time, and refuses other
 * requests meanwhile (queueset.go, canAccommodateSeatsLocked). This client occupies the only place
 * with a request that does not end, because its body never comes.
 */
import { request, type RequestOptions } from "node:https";
import { loadKubeConfig } from "#kube/load.ts";
import type { Cluster } from "../cluster/cluster.ts";

/**
 * Occupies the only place as this user until you dispose of the result. Occupies a lost place
 * again.
 */
export async function saturate(cluster: Cluster, user: string): Promise<Disposable> {
  const config = loadKubeConfig(cluster.kubeconfig);
  const options: RequestOptions = { method: "POST" };
  await config.applyToHTTPSOptions(options);
  // Sends the request as this user, because the administrator's requests bypass all priority
  // levels. Every user may send this request.
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
    // If the server refuses this request because another one runs, or ends it after one minute, the
    // client sends the request again.
    asked.on("response", (response) => void response.resume());
    asked.on("error", () => {});
    asked.on("close", () => setTimeout(ask, 20));
    asked.flushHeaders();
  };
  ask();
  return { [Symbol.dispose]: () => stop.abort() };
}
