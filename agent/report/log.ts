/**
 * One JSON line per event on standard output, written at once: an asynchronous log loses its lines
 * to a SIGKILL. `help` names the place that explains the code in the line.
 */
import { destination, pino } from "pino";
import { helpIn } from "#contract/help.ts";

export type Log = (
  fields: Readonly<Record<string, string | number | boolean>>,
  line: string,
) => void;

export function openLog(node: string): Log {
  const logger = pino(
    { base: { node }, timestamp: pino.stdTimeFunctions.isoTime },
    destination({ dest: 1, sync: true }),
  );
  return (fields, line) => logger.info({ ...fields, help: helpIn(line) }, line);
}
