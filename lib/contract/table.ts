/**
 * The table of a program's flags, operands and variables, and the text of `--help` made from it.
 */
import type { ValueReader, Wrong } from "./values.ts";

/** One row. It is a flag, unless `from` defines another kind. The row's key is the flag's name. */
export type Flag = Readonly<{
  read: ValueReader<unknown>;
  /** Its line in `--help`. For a required row: what to give. */
  what: string;
  /** The default: the text that is read if the command line has none. */
  standard?: string;
  /**
   * The program cannot run without this value. A value that `read` treats as absent is not enough.
   */
  required?: true;
  /** The flag can be given several times, so its value is a list. */
  repeated?: true;
  /** One letter. */
  short?: string;
  /** The flag without a value means `true`. */
  switch?: true;
  /** An environment variable, or an argument that belongs to no flag. */
  from?: "environment" | "operand";
}>;

export type Table = Readonly<Record<string, Flag>>;

type ValueOf<Row extends Flag> = Exclude<ReturnType<Row["read"]>, Wrong>;

/** Name → value, typed by the rows' readers. */
export type TableValues<Rows extends Table> = {
  -readonly [Name in keyof Rows]: Rows[Name] extends { repeated: true }
    ? readonly ValueOf<Rows[Name]>[]
    : Rows[Name] extends { required: true }
      ? Exclude<ValueOf<Rows[Name]>, undefined>
      : Rows[Name] extends { standard: string }
        ? ValueOf<Rows[Name]>
        : ValueOf<Rows[Name]> | undefined;
};

/** How people write the row's name: `--listen`, `REVISION`, `IMAGE`. */
export function titleOf(name: string, { from }: Flag): string {
  return from === undefined ? `--${name}` : name;
}

/** Formats the rows for people: one line for each row, flags first. */
export function usage(table: Table): string {
  const rows = Object.entries(table).map(([name, flag]) => rowOf(name, flag));
  const width = Math.max(...rows.map(([title]) => title.length));
  return rows
    .map(([title, right]) => `  ${title.padEnd(width)} ${right}\n`)
    .toSorted()
    .join("");
}

/** A row's name with its short name, and its meaning with the default. */
export const rowOf = (name: string, flag: Flag): readonly [title: string, meaning: string] => [
  label(name, flag),
  `${flag.what}${notes(flag)}`,
];

function label(name: string, flag: Flag): string {
  return `${titleOf(name, flag)}${flag.short === undefined ? "" : `, -${flag.short}`}`;
}

function notes({ standard, required, repeated, from, switch: on }: Flag): string {
  const words = [
    ...(required && from === undefined ? ["; required"] : []),
    ...(repeated ? ["; may be repeated"] : []),
    ...(from === "environment" ? [" (environment)"] : []),
    ...(standard === undefined || standard === "" || on ? [] : [` [${standard}]`]),
  ];
  return words.join("");
}
