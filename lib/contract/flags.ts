/**
 * Reads the command line of every program. Reports all errors at once, because each separate
 * correction would cost a Deployment rollout.
 */
import { sortArguments, type Arguments } from "./arguments.ts";
import { titleOf, type Flag, type Table, type TableValues } from "./table.ts";
import { Wrong } from "./values.ts";

/** Quotes a text for people, and removes possible secrets from it. */
type Quote = (text: string) => string;

export type Invocation = Readonly<{
  /** The arguments after the program's name. */
  argv: readonly string[];
  environment?: Readonly<Record<string, string | undefined>>;
  quote: Quote;
}>;

/** Each error is one line with the flag, its value, the problem, and what to give instead. */
export type ParsedFlags<Value> =
  | Readonly<{ ok: true; value: Value }>
  | Readonly<{ ok: false; errors: readonly string[] }>;

/**
 * A rule for several values together. If a value could not be read, we apply no rule, because a
 * rule would treat the value as absent.
 */
export type Rule<Rows extends Table> = (
  values: Readonly<Partial<TableValues<Rows>>>,
) => string | undefined;

/** Reads the arguments row by row, then applies the rules. */
export function readFlags<const Rows extends Table>(
  table: Rows,
  invocation: Invocation,
  ...rules: readonly Rule<Rows>[]
): ParsedFlags<TableValues<Rows>> {
  const flags = Object.fromEntries(rowsOf(table, undefined));
  const operands = rowsOf(table, "operand").map(([name]) => name);
  const sorted = sortArguments(invocation.argv, flags, operands);
  const read = rowsOf(table).map(([name, flag]) => {
    return [
      name,
      readRow(name, flag, textsOf(name, flag, sorted, invocation), invocation.quote),
    ] as const;
  });
  const values = valuesOf<Rows>(read);
  const errors = [
    ...sorted.unknown.map((name) => unknownFlag(name, invocation)),
    ...sorted.strays.map((stray) => `${invocation.quote(stray)}: belongs to no flag; remove it`),
    ...read.flatMap(([, outcome]) => (outcome.ok ? [] : outcome.errors)),
    ...(read.every(([, row]) => row.ok) ? rules.flatMap((rule) => rule(values) ?? []) : []),
  ];
  return errors.length > 0 ? { ok: false, errors } : { ok: true, value: values };
}

function rowsOf(table: Table, ...from: readonly Flag["from"][]): [name: string, flag: Flag][] {
  return Object.entries(table).filter(([, row]) => from.length === 0 || from.includes(row.from));
}

function valuesOf<Rows extends Table>(read: readonly (readonly [string, ParsedFlags<unknown>])[]) {
  const good = read.flatMap(([name, parsed]) => (parsed.ok ? [[name, parsed.value] as const] : []));
  return Object.fromEntries(good) as TableValues<Rows>;
}

/** The texts for one row; undefined if a flag has no value. */
type Texts = readonly (string | undefined)[];

function textsOf(
  name: string,
  { from }: Flag,
  { texts }: Arguments,
  invocation: Invocation,
): Texts {
  const variable = invocation.environment?.[name];
  if (from === "environment") return variable === undefined ? [] : [variable];
  return texts.get(name) ?? [];
}

function readRow(name: string, flag: Flag, texts: Texts, quote: Quote): ParsedFlags<unknown> {
  const title = titleOf(name, flag);
  const inputs = texts.length === 0 && flag.standard !== undefined ? [flag.standard] : texts;
  const values = inputs.map((text) => (text === undefined ? noValue(title) : flag.read(text)));
  const errors = values.flatMap((value, at) =>
    value instanceof Wrong ? [problemLine(title, inputs[at], value, quote)] : [],
  );
  const lacks = inputs.length === 0 ? "missing" : values.includes(undefined) ? "empty" : undefined;
  if (lacks !== undefined && flag.required) errors.push(`${title}: is ${lacks}; give ${flag.what}`);
  if (inputs.length > 1 && !flag.repeated)
    errors.push(`${title}: given ${inputs.length} times; give it once`);
  if (errors.length > 0) return { ok: false, errors };
  return { ok: true, value: flag.repeated ? values : values[0] };
}

function noValue(title: string): Wrong {
  return new Wrong(`has no value; write ${title}=VALUE`);
}

function problemLine(
  title: string,
  text: string | undefined,
  { message }: Wrong,
  quote: Quote,
): string {
  return `${title}${text === undefined ? "" : ` ${quote(text)}`}: ${message}`;
}

/** The error for an unknown flag. It hides the flag's value. */
function unknownFlag(name: string, { quote }: Invocation): string {
  const shown = /^--?[A-Za-z0-9][A-Za-z0-9-]{0,39}$/.test(name) ? name : quote(name);
  return `${shown}: is not a flag; --help names all`;
}
