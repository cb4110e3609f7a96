/**
 * In a priority level without seats, the API server runs one request at a time, and meanwhile
 * refuses all others (queueset.go, canAccommodateSeatsLocked). This client sends a request that
 * does not end, because it never sends the request's body.
 */
import { request, type RequestOptions } from "node:https";
import { loadKubeConfig } from "#kube/load.ts";
import type { Cluster } from "../cluster/cluster.ts";

/**
 * Keeps one request of this user running until you dispose of the result. If the request ends,
 * sends it again.
 */
export async function saturate(cluster: Cluster, user: string): Promise<Disposable> {
  const config = loadKubeConfig(cluster.kubeconfig);
  const options: RequestOptions = { method: "POST" };
  await config.applyToHTTPSOptions(options);
  // Sends the request as this user, because the administrator's requests bypass all priority
  // levels. Every user is allowed to send this request.
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
    // The server refuses this request while another request runs. If this request runs, the server
    // ends it after one minute. In both cases the client sends the request again.
    asked.on("response", (response) => void response.resume());
    asked.on("error", () => {});
    asked.on("close", () => setTimeout(ask, 20));
    asked.flushHeaders();
  };
  ask();
  return { [Symbol.dispose]: () => stop.abort() };
}
