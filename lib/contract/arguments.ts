/** The arguments of a program, sorted by the flag or operand that each text belongs to. */
import { parseArgs } from "node:util";

/** Flag → its one-letter form, if it has one. `switch`: the flag takes no value. */
type KnownFlags = Readonly<Record<string, Readonly<{ short?: string; switch?: true }>>>;

export type Arguments = Readonly<{
  /** Flag or operand → its texts in order; undefined if a flag has no value. */
  texts: ReadonlyMap<string, readonly (string | undefined)[]>;
  /** The name of each argument that looks like an unknown flag, without the flag's value. */
  unknown: readonly string[];
  /** Each argument that belongs to no flag and to no operand. Empty beside an unknown flag. */
  strays: readonly string[];
}>;

type Token = Readonly<{
  kind: "option" | "positional" | "option-terminator";
  index: number;
  name?: string;
  rawName?: string;
  value?: string | undefined;
  inlineValue?: boolean | undefined;
}>;

/** Whether the arguments ask for help. Texts after `--` do not count. */
export function asksForHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  const before = end < 0 ? argv : argv.slice(0, end);
  return before.includes("--help") || before.includes("-h");
}

/**
 * Sorts arguments by the flags that the program knows; `places` are the names of the program's
 * operands, in order.
 */
export function sortArguments(
  argv: readonly string[],
  flags: KnownFlags,
  places: readonly string[],
): Arguments {
  const tokens = tokenize(withoutShort(argv, flags), flags, 0);
  const of = (tokenKind: Token["kind"]) => tokens.filter(({ kind }) => kind === tokenKind);
  const isKnown = ({ name = "" }: Token) => Object.hasOwn(flags, name);
  const unknown = of("option").filter((token) => !isKnown(token));
  // In an argument such as `-psecret`, where -p is unknown and -s is known, the letters after -p
  // are most likely the value of -p.
  const odd = new Set(unknown.map(({ index }) => index));
  const positional = of("positional");
  const filled = places.slice(0, positional.length);
  return {
    texts: textsOf([
      ...of("option")
        .filter((token) => isKnown(token) && !odd.has(token.index))
        .map((token) => withValue(token, flags)),
      ...filled.map((name, place) => ({ name, value: positional[place]?.value })),
    ]),
    unknown: onePerArgument(unknown),
    // The text after an unknown flag is most likely that flag's value, which might be a secret.
    strays:
      unknown.length > 0 ? [] : positional.slice(places.length).map(({ value = "" }) => value),
  };
}

/** Reads `-o=json` as `--output=json`. Node.js would read `=json` as the value. */
function withoutShort(argv: readonly string[], flags: KnownFlags): string[] {
  const rows = Object.entries(flags);
  const end = argv.indexOf("--");
  return argv.map((argument, at) => {
    const [, letter, value] = /^-(\w)=(.*)$/s.exec(argument) ?? [];
    const row = rows.find(([, { short }]) => letter !== undefined && short === letter);
    return row === undefined || (end >= 0 && at > end) ? argument : `--${row[0]}=${value}`;
  });
}

/**
 * The tokens as Node.js reads them, but a flag never becomes the value of another flag:
 * `--kubeconfig --listen :1` is two flags.
 */
function tokenize(argv: readonly string[], flags: KnownFlags, from: number): Token[] {
  const how = { strict: false, allowPositionals: true, tokens: true } as const;
  const parsed = parseArgs({ args: argv.slice(from), options: typed(flags), ...how });
  const tokens = parsed.tokens.map((token): Token =>
    Object.assign(token, { index: token.index + from }),
  );
  const at = tokens.findIndex((token) => swallowsFlag(token, flags));
  const flag = tokens[at];
  if (flag === undefined) return tokens;
  const rest = tokenize(argv, flags, flag.index + 1);
  return [...tokens.slice(0, at), { ...flag, value: undefined }, ...rest];
}

/** The options for parseArgs: each flag takes a text, except switches. */
function typed(flags: KnownFlags) {
  const rows = Object.entries(flags).map(([name, { short, switch: on }]) => {
    const type = on ? ("boolean" as const) : ("string" as const);
    return [name, short === undefined ? { type } : { type, short }] as const;
  });
  return Object.fromEntries(rows);
}

/** Reads `--help` as `--help=true`. */
function withValue(token: Token, flags: KnownFlags): Token {
  const on = flags[token.name ?? ""]?.switch === true && token.inlineValue !== true;
  return on ? { ...token, value: "true" } : token;
}

function swallowsFlag({ inlineValue, value = "" }: Token, flags: KnownFlags): boolean {
  return inlineValue === false && looksLikeFlag(value, flags);
}

/**
 * Whether a value looks like a flag. False for `-1` and `-dash.json`, because many values begin
 * with one dash.
 */
function looksLikeFlag(value: string, flags: KnownFlags): boolean {
  return value.startsWith("--") || Object.values(flags).some(({ short }) => value === `-${short}`);
}

/** Collects repeated flags under their name. */
function textsOf(tokens: readonly Pick<Token, "name" | "value">[]): Arguments["texts"] {
  const texts = new Map<string, (string | undefined)[]>();
  for (const { name = "", value } of tokens) texts.set(name, [...(texts.get(name) ?? []), value]);
  return texts;
}

/**
 * Reports `-psecret` as one unknown flag, by its first letter. Node.js reads seven flags, one for
 * each letter.
 */
function onePerArgument(tokens: readonly Token[]): Arguments["unknown"] {
  const first = tokens.filter(({ index }, at) => tokens[at - 1]?.index !== index);
  return first.map(({ rawName = "" }) => rawName);
}
