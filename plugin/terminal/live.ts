/** Redraws one line on a terminal, with the elapsed and the expected time. */
import { escape } from "#pullsecret/problems/keypath.ts";
import type { LiveTerminal } from "./io.ts";
import { span } from "./output.ts";

export type Live = Readonly<{
  /** Shows the text, and the expected remaining seconds if they are known. */
  show(what: string, seconds: number | undefined): void;
  /** Erases the line, so that the next output takes its place. */
  end(): void;
}>;

/** Moves the cursor to the start of the line, and erases the line. */
const erase = "\r\u001b[K";

/** The text of the line. The time comes first, because a narrow terminal cuts off the end. */
export function liveText(what: string, elapsed: number, remaining: number | undefined): string {
  const rest =
    remaining === undefined || remaining <= 0 ? "" : `, about ${span(Math.ceil(remaining))} left`;
  return `${span(Math.floor(elapsed))}${rest}: ${escape(what)}`;
}

/**
 * Draws the line at each `show`, and once a second. Without a terminal, prints each new text once
 * with `print`.
 */
export function liveLine(terminal: LiveTerminal | undefined, print: (line: string) => void): Live {
  let last = "";
  if (terminal === undefined)
    return {
      show(what) {
        if (what !== last) print(what);
        last = what;
      },
      end() {},
    };
  const { columns, write } = terminal;
  const begin = performance.now();
  let until: number | undefined;
  const draw = (): void => {
    const now = performance.now();
    const remaining = until === undefined ? undefined : (until - now) / 1000;
    const text = liveText(last, (now - begin) / 1000, remaining);
    // We leave the last column free, because some terminals begin a new line after it.
    write(`${erase}${[...text].slice(0, columns - 1).join("")}`);
  };
  let timer: NodeJS.Timeout | undefined;
  return {
    show(what, seconds) {
      last = what;
      until = seconds === undefined ? undefined : performance.now() + seconds * 1000;
      timer ??= setInterval(draw, 1000);
      draw();
    },
    end() {
      if (timer === undefined) return;
      clearInterval(timer);
      timer = undefined;
      write(erase);
    },
  };
}
