/** For tests: the state before anything is recorded. */
import type { RememberedState } from "./state.ts";

export const noState: RememberedState = {
  accepted: {},
  rollout: undefined,
  absentSince: new Map(),
  policy: undefined,
  sourcesFrom: undefined,
};
