/**
 * The log of a program: one JSON line per event on standard output, written at once, because the
 * last lines before an exit matter most, and an asynchronous log loses lines on SIGKILL. No other
 * file imports the logger.
 */
import { pino, type DestinationStream, type Logger, type LoggerOptions } from "pino";
import { helpIn } from "#contract/help.ts";

const standardOutput = () => pino.destination({ dest: 1, sync: true });

/**
 * Adds `help`, the link that explains a code, to each line that has a code in its message or in a
 * field. `to`: the destination, for tests.
 */
export function openLog(level: string, to: DestinationStream = standardOutput()): Logger {
  const hooks: LoggerOptions["hooks"] = {
    logMethod(args, method) {
      const [fields, ...rest] = args as unknown[];
      const texts =
        typeof fields === "object" && fields !== null ? Object.values(fields) : [fields];
      const help = [...rest, ...texts]
        .filter((text) => typeof text === "string")
        .map(helpIn)
        .find((link) => link !== undefined);
      if (help === undefined) return method.apply(this, args);
      const fullArgs = typeof fields === "object" ? [fields, ...rest] : [{}, fields, ...rest];
      return method.apply(this, [
        { ...(fullArgs[0] as object), help },
        ...fullArgs.slice(1),
      ] as typeof args);
    },
  };
  return pino({ level, base: null, hooks }, to);
}

/** The log of the node's agent: each line has the node's name, and its time as people read it. */
export const openNodeLog = (node: string): Logger =>
  pino({ base: { node }, timestamp: pino.stdTimeFunctions.isoTime }, standardOutput());
