/**
 * Which clusters are changed now. Pure. The terms and their meanings are Open Cluster Management's,
 * except that a cluster that cannot be reached does not count as failed.
 */

export type Standing =
  /** Has what the Secret says, proved, and for long enough. */
  | "done"
  /** Has it, but not for long enough yet; it keeps its slot. */
  | "soaking"
  /** Answers, and has something else. */
  | "waiting"
  /** Had this very content and lost it. It gets it back out of turn. */
  | "repair"
  /** Is being changed, or has been changed and has not proved it yet. */
  | "busy"
  /** Answers, and refuses this content. */
  | "failed"
  /** Refused this content, and may be tried again now. */
  | "retry"
  /** Refused this content, and is being tried again: it still counts as refusing it. */
  | "retrying"
  /** Does not answer, or cannot be served or proved, whatever the content. */
  | "unreachable";

export type RankedGuest = Readonly<{ name: string; standing: Standing }>;

export type Pace = Readonly<{
  canary: number;
  /** A number, or a percentage of the clusters that can be reached, such as `10%`. */
  maxConcurrency: number | string;
  maxFailures: number;
}>;

export type FleetTurn = Readonly<{
  /** Names of the clusters to change now, sorted. */
  change: readonly string[];
  /** Too many clusters refuse the content, so no other gets it. */
  halted: boolean;
}>;

/**
 * The clusters to change now. Clusters that cannot be reached take no slot, are no canary and never
 * count as failed. The first clusters to have the content are the canaries, so a cluster that joins
 * when others have it waits for none. Beyond `maxFailures` only clusters that refuse are tried
 * again. Giving back content that a cluster had already is no change there, so it waits for no
 * other.
 */
export function order(guests: readonly RankedGuest[], pace: Pace): FleetTurn {
  const named = (...standings: readonly Standing[]) =>
    guests
      .filter(({ standing }) => standings.includes(standing))
      .map(({ name }) => name)
      .toSorted();
  const reached = guests.filter(({ standing }) => standing !== "unreachable").length;
  const halted = named("failed", "retry", "retrying").length > pace.maxFailures;
  const candidates = halted ? named("retry") : [...named("waiting"), ...named("retry")];
  const busy = named("busy", "soaking", "retrying").length;
  const repairs = named("repair");
  const done = named("done", "repair").length;
  const canaries = Math.min(pace.canary, reached);
  const slots = done < canaries ? canaries - done : slotsOf(pace.maxConcurrency, reached);
  return { change: [...repairs, ...candidates.slice(0, Math.max(0, slots - busy))], halted };
}

/** At least one slot; with none nothing would ever change. */
function slotsOf(wanted: number | string, reached: number): number {
  const share = typeof wanted === "number" ? wanted : (Number.parseInt(wanted, 10) / 100) * reached;
  return Math.max(1, Math.floor(share));
}
