/** Runs histories, and describes the first that breaks a law. */
import { Broken } from "./laws.ts";
import { History } from "./history.ts";
import { Node } from "./node.ts";

type Failure = Readonly<{ seed: number; why: string; trace: readonly string[] }>;

/** `first`: the first seed. `Subject`: a node whose agent breaks a rule. */
type Histories = Readonly<{
  first: number;
  count: number;
  isWithProvider: boolean;
  Subject?: typeof Node;
}>;

/** Runs histories with consecutive seeds. Returns the first failure. */
export async function firstFailure({
  first,
  count,
  isWithProvider,
  Subject = Node,
}: Histories): Promise<Failure | undefined> {
  for (let seed = first; seed < first + count; seed += 1) {
    using node = new Subject(isWithProvider);
    try {
      await new History(node, seed, isWithProvider).run();
    } catch (error) {
      const { message, stack = message } = error as Error;
      const why = error instanceof Broken ? message : stack;
      return { seed, why, trace: node.trace };
    }
  }
  return undefined;
}

/** The text of a failure, for a person. */
export function describe({ seed, why, trace }: Failure): string {
  return [`seed ${seed}: ${why}`, ...trace.slice(-80)].join("\n");
}
