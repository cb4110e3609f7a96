/** Conditions of an object's status, as Kubernetes defines them. Pure. */
import { withHelp } from "#contract/help.ts";

/** A condition. `Type` lists the condition types of one kind of object. */
type Typed<Type extends string> = Readonly<{ type: Type }>;

/** The condition of this type. The compiler refuses a type that the object's kind does not have. */
export function conditionOf<Type extends string, Condition extends Typed<Type>>(
  status: Readonly<{ conditions?: readonly Condition[] }> | undefined,
  type: Condition["type"],
): Condition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

type Dated<Time> = Readonly<{ type: string; status: string; lastTransitionTime: Time }>;

/**
 * The conditions with their times: the time at which the status last changed, even if reason and
 * message changed later.
 */
export function timed<Untimed extends Readonly<{ type: string; status: string }>, Time = string>(
  untimed: readonly Untimed[],
  before: readonly Dated<Time>[] | undefined,
  now: NoInfer<Time>,
): readonly (Untimed & Readonly<{ lastTransitionTime: Time }>)[] {
  return untimed.map((condition) => {
    const last = before?.find(({ type }) => type === condition.type);
    const lastTransitionTime = last?.status === condition.status ? last.lastTransitionTime : now;
    return { ...condition, lastTransitionTime };
  });
}

type Row<Time> = Omit<Dated<Time>, "lastTransitionTime"> & Readonly<{ message: string }>;

/**
 * The conditions of one of our objects, from a table with one row for each condition. Adds the
 * times, the generation, and the link for the message's code.
 */
export function conditionsOf<One extends Row<string>>(
  rows: readonly One[],
  generation: number,
  before: readonly Dated<string>[] | undefined,
  now: string,
) {
  const whole = rows.map((row) => ({
    ...row,
    message: withHelp(row.message),
    observedGeneration: generation,
  }));
  return timed(whole, before, now);
}

/** The status of a condition that is never unknown. */
export const truth = (is: boolean) => (is ? "True" : "False");

/** RFC 3339 in whole seconds, as Kubernetes writes times. */
export const timeOf = (date: Date): string => date.toISOString().replace(/\.\d+Z$/, "Z");
