/** Removes everything that one test would leave for the next test. */
import { until } from "#test/cluster/await.ts";
import { forgetEvents } from "./events.ts";
import { ownPaths } from "./paths.ts";
import type { Plane } from "./start.ts";

/**
 * Deletes all our objects while no controller runs. This is faster than a removal by the
 * controller, which these tests do not check.
 */
export async function wipe(plane: Plane): Promise<void> {
  const kubectl = (...args: string[]) =>
    plane.cluster.kubectl("-n", "kube-system", ...args, "--ignore-not-found");
  const secrets = ["additional-pull-secret", "global-pull-secret", "global-pull-secret-state"];
  const syncer = "global-pull-secret-syncer";
  await Promise.all([
    kubectl("delete", "secrets", ...secrets),
    kubectl("delete", "daemonset", syncer, "--cascade=foreground", "--timeout=60s"),
    kubectl("delete", "rolebinding,role,serviceaccount", syncer),
    kubectl("delete", "nodepullsecrets", "--all"),
  ]);
  await forgetEvents(plane);
}

/**
 * Deletes additional-pull-secret, waits until none of our objects is left, and deletes the Events.
 */
export async function clear(plane: Plane): Promise<void> {
  await plane.cluster.kubectl(
    "delete",
    "secret",
    "additional-pull-secret",
    "-n",
    "kube-system",
    "--ignore-not-found",
  );
  await untilGone(plane);
  await forgetEvents(plane);
}

export async function untilGone(plane: Plane, timeout = 180_000): Promise<void> {
  const countRemaining = async () =>
    (await Promise.all(ownPaths.map((path) => plane.api.get(path)))).filter((o) => o !== undefined)
      .length;
  await until("none of our objects is left", async () => (await countRemaining()) === 0, {
    timeout,
    seen: countRemaining,
  });
}
