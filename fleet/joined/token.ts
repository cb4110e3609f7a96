/** When a joined cluster's token is renewed. Pure. */
import type { V1Secret } from "@kubernetes/client-node";
import { expiresAnnotation, issuedAnnotation } from "#contract/joined/names.ts";

/** fresh · due: half of its time is over · expired · unknown: nobody wrote down its times. */
export type Age = "fresh" | "due" | "expired" | "unknown";

/** As the API server that gave the token has said, whatever had been asked for. */
export function ageOf(secret: V1Secret | undefined, now: number): Age {
  const time = (name: string) => Date.parse(secret?.metadata?.annotations?.[name] ?? "");
  const [issued, expires] = [time(issuedAnnotation), time(expiresAnnotation)];
  if (Number.isNaN(issued) || Number.isNaN(expires)) return "unknown";
  if (now >= expires) return "expired";
  return now >= (issued + expires) / 2 ? "due" : "fresh";
}
