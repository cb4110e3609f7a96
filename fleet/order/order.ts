/**
 * Which clusters are changed now. Pure. The words are Open Cluster Management's, and so are their
 * meanings, but for one: a cluster that cannot be reached is nobody's failure.
 */

export type Standing =
  /** Has what the Secret says, proved, and for as long as is asked. */
  | "done"
  /** Has it, but not for so long yet: it keeps its place. */
  | "soaking"
  /** Answers, and has something else. */
  | "waiting"
  /** Had this very content, and lost it: it gets it back out of turn. */
  | "repair"
  /** Is being changed at this moment, or has been and not proved it yet. */
  | "busy"
  /** Answers, and refuses this content. */
  | "failed"
  /** A refusal that may be tried once more now. */
  | "retry"
  /** Does not answer, or cannot be served or proved whatever the content is. */
  | "unreachable";

export type Guest = Readonly<{ name: string; standing: Standing }>;

export type Pace = Readonly<{
  canary: number;
  /** A number, or a percentage of the clusters that can be reached, such as `10%`. */
  maxConcurrency: number | string;
  maxFailures: number;
}>;

export type Turn = Readonly<{
  /** To be changed now, sorted. */
  change: readonly string[];
  /** Too many refuse: no other cluster gets it. */
  halted: boolean;
}>;

/**
 * The clusters whose turn it is. Those that cannot be reached take no slot, are no canary and never
 * count as failed. A canary is whichever has the content first; a cluster that joins when others
 * have it waits for none. Beyond `maxFailures` only those that refuse are tried again. What a
 * cluster has had is no change there: it waits for nobody.
 */
export function order(guests: readonly Guest[], pace: Pace): Turn {
  const named = (...standings: readonly Standing[]) =>
    guests
      .filter(({ standing }) => standings.includes(standing))
      .map(({ name }) => name)
      .toSorted();
  const reached = guests.filter(({ standing }) => standing !== "unreachable").length;
  const halted = named("failed", "retry").length > pace.maxFailures;
  const candidates = halted ? named("retry") : [...named("waiting"), ...named("retry")];
  const busy = named("busy", "soaking").length;
  const repairs = named("repair");
  const done = named("done", "repair").length;
  const canaries = Math.min(pace.canary, reached);
  const slots = done < canaries ? canaries - done : slotsOf(pace.maxConcurrency, reached);
  return { change: [...repairs, ...candidates.slice(0, Math.max(0, slots - busy))], halted };
}

/** One at least: with none nothing would ever change. */
function slotsOf(wanted: number | string, reached: number): number {
  const share = typeof wanted === "number" ? wanted : (Number.parseInt(wanted, 10) / 100) * reached;
  return Math.max(1, Math.floor(share));
}
