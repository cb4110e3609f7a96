/** Events on additional-pull-secret. */
import { until } from "#test/cluster/await.ts";
import { system } from "./paths.ts";
import type { Plane } from "./start.ts";

export type EventView = Readonly<{
  type: string;
  reason: string;
  message: string;
  involvedObject: { name: string };
}>;

export async function eventsOf(plane: Plane): Promise<readonly EventView[]> {
  const all: EventView[] = [];
  await plane.api.pages<EventView>(`/api/v1${system}/events`, {}, (items) => {
    all.push(
      ...items.filter(({ involvedObject }) => involvedObject.name === "additional-pull-secret"),
    );
  });
  return all;
}

export async function untilEvent(
  plane: Plane,
  reason: string,
  words = "",
  timeout = 20_000,
): Promise<EventView> {
  return until(
    `there is an Event ${reason} with "${words}"`,
    async () =>
      (await eventsOf(plane)).find(
        (event) => event.reason === reason && event.message.includes(words),
      ),
    {
      timeout,
      seen: async () =>
        (await eventsOf(plane)).map(({ reason, message }) => `${reason}: ${message}`),
    },
  );
}

/** Deletes all Events in one request. kubectl's `--all` would send a request for each Event. */
export async function forgetEvents(plane: Plane): Promise<void> {
  await plane.cluster.kubectl("delete", "--raw", `/api/v1${system}/events`);
}
