/**
 * The log of a program in the cluster: one JSON line per event on standard output, written at once,
 * because the last lines before an exit matter most.
 */
import { pino, type Logger } from "pino";
import { helpIn } from "#contract/help.ts";

/**
 * Adds `help`, the link that explains a code, to each line that has a code in its message or in a
 * field. `to`: the destination, for tests.
 */
export function openLog(
  level: string,
  to: pino.DestinationStream = pino.destination({ dest: 1, sync: true }),
): Logger {
  const hooks: pino.LoggerOptions["hooks"] = {
    logMethod(args, method) {
      const [fields, ...rest] = args as unknown[];
      const texts =
        typeof fields === "object" && fields !== null ? Object.values(fields) : [fields];
      const help = [...rest, ...texts]
        .filter((text) => typeof text === "string")
        .map(helpIn)
        .find((found) => found !== undefined);
      if (help === undefined) return method.apply(this, args);
      const given = typeof fields === "object" ? [fields, ...rest] : [{}, fields, ...rest];
      return method.apply(this, [
        { ...(given[0] as object), help },
        ...given.slice(1),
      ] as typeof args);
    },
  };
  return pino({ level, base: null, hooks }, to);
}
