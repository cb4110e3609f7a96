/** Readers of flag values: each returns the value, or an error with what to give instead. */
import { isIP } from "node:net";

/**
 * The problem of a value, and what to give instead. The text completes a sentence that begins with
 * the flag.
 */
export class Wrong {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}

export type ValueReader<Value> = (text: string) => Value | Wrong;

/** Any text; an empty text counts as absent, so a manifest can leave a variable empty. */
export function text(value: string): string | undefined {
  return value === "" ? undefined : value;
}

export function oneOf<const Choice extends string>(...choices: readonly Choice[]) {
  const read = (value: string): Choice | Wrong =>
    choices.find((choice) => choice === value) ??
    new Wrong(`is not one of the choices; give ${choices.join(", ")}`);
  return Object.assign(read, { choices });
}

/** The choices of a reader that `oneOf` returned; none for any other reader. */
export function choicesOf(
  read: ValueReader<unknown> & { choices?: readonly string[] },
): readonly string[] {
  return read.choices ?? [];
}

/** A row that is false unless its flag is given: `--waiting`, or `--waiting=true`. */
export const toggle = {
  read: (value: string): boolean | Wrong =>
    value === "true" || (value === "false" ? false : new Wrong("is neither true nor false")),
  standard: "false",
  switch: true,
} as const;

/** 16 digits are enough for every whole number that JavaScript stores exactly. */
export function integer(least: number, most: number) {
  const read = (value: string): number | Wrong => {
    const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
    return number >= least && number <= most
      ? number
      : new Wrong(`is not a whole number from ${least} to ${most}`);
  };
  return Object.assign(read, { bounds: { least, most } });
}

/** The bounds of a reader that `integer` returned; undefined for any other reader. */
export function boundsOf(
  read: ValueReader<unknown> & { bounds?: Readonly<{ least: number; most: number }> },
): Readonly<{ least: number; most: number }> | undefined {
  return read.bounds;
}

/** Used in place of a unit's name. The agent then finds each node's own kubelet. */
export const auto = "auto";

/** `auto`, or a service's name as in systemd.unit(5). Only services can be restarted. */
export function unit(value: string): string | Wrong {
  if (value === auto || (/^[A-Za-z0-9:_.\\@-]+\.service$/.test(value) && value.length <= 255))
    return value;
  return new Wrong("is not a systemd service; give auto, or a name such as kubelet.service");
}

/**
 * An absolute path other than `/`, without `.`, `..`, `:` and needless slashes. The error contains
 * `kind`.
 */
function path(kind: "directory" | "file") {
  return (value: string): string | Wrong => {
    const tidy =
      value.startsWith("/") && value !== "/" && !/\/\/|\/$|(^|\/)\.\.?(\/|$)|[:\0]/.test(value);
    return tidy ? value : new Wrong(`is not an absolute path of a ${kind} without . and ..`);
  };
}

export const directory = path("directory");
export const file = path("file");

/** The longest timer that Node.js supports, in seconds. A longer timer fires at once. */
const longestTimer = Math.floor((2 ** 31 - 1) / 1000);

/** Whole seconds of a duration as Go prints it: 1h30m. Undefined for any other text. */
export function secondsOf(duration: string): number | undefined {
  const parts = /^(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?$/.exec(duration);
  if (parts === null || duration === "") return undefined;
  const [, h = 0, m = 0, s = 0] = parts;
  return Number(h) * 3600 + Number(m) * 60 + Number(s);
}

/** At least a second. Durations above 24 days, the longest timer of Node.js, count as 24 days. */
export function duration(value: string): number | Wrong {
  const seconds = secondsOf(value) ?? 0;
  if (seconds > 0) return Math.min(seconds, longestTimer);
  return new Wrong("is not a duration of at least 1s; give a value such as 90s, 10m or 1h30m");
}

/** `auto`, or an IP address. */
export function ip(value: string): string | Wrong {
  if (value === auto || isIP(value) > 0) return value;
  return new Wrong("is not an IP address; give auto, or an address such as 10.0.0.1");
}

/** An SELinux type; empty: the container runtime's own type. */
export function selinuxType(value: string): string | Wrong {
  if (/^(?:[a-z][a-z0-9_]{0,62})?$/.test(value)) return value;
  return new Wrong("is not an SELinux type; give a type such as spc_t or super_t");
}

/** An AppArmor profile, as Kubernetes names it. */
export function appArmorProfile(value: string): string | Wrong {
  if (/^(?:Unconfined|RuntimeDefault|Localhost\/[A-Za-z0-9._/-]{1,200})$/.test(value)) return value;
  return new Wrong("is not an AppArmor profile; give Unconfined, RuntimeDefault or Localhost/NAME");
}

/** Reads a duration of at least `least` and at most `most` seconds. */
export function within(least: number, most: number) {
  return (value: string): number | Wrong => {
    const seconds = secondsOf(value);
    return seconds !== undefined && seconds >= least && seconds <= most
      ? seconds
      : new Wrong(
          `is not a duration from ${least}s to ${most}s; give a value such as ${Math.max(5, least)}s`,
        );
  };
}

/** An empty host means every address; IPv6 is written in brackets. */
export function address(value: string): { host: string; port: number } | Wrong {
  const { v6, host, port } =
    /^(?:\[(?<v6>[0-9a-fA-F:.]+)\]|(?<host>[^:[\]]*)):(?<port>\d{1,5})$/.exec(value)?.groups ?? {};
  if (port === undefined || Number(port) > 65535)
    return new Wrong("is not HOST:PORT; give a value such as :8080");
  return { host: v6 ?? host ?? "", port: Number(port) };
}
