import assert from "node:assert/strict";
import { test } from "node:test";
import { asksForHelp } from "./arguments.ts";
import { readFlags, type Rule } from "./flags.ts";
import { usage, type Table } from "./table.ts";
import { integer, oneOf, text, toggle } from "./values.ts";

const table = {
  colour: { read: oneOf("red", "blue"), standard: "red", what: "of the paint" },
  coats: { read: integer(1, 9), standard: "2", what: "how many times it is put on" },
  file: { read: text, required: true, short: "f", what: "the file to paint" },
  note: { read: text, what: "for the painter" },
  tag: { read: oneOf("a", "b"), repeated: true, what: "to find it again" },
  dry: { ...toggle, short: "d", what: "touch nothing" },
  PLACE: {
    read: integer(0, 99),
    from: "environment",
    required: true,
    what: "the number of the place",
  },
  WALL: { read: text, from: "operand", required: true, what: "the wall" },
  DOOR: { read: text, from: "operand", what: "the door in it" },
} as const satisfies Table;

const blueIsThin: Rule<typeof table> = ({ colour, coats }) =>
  colour === "blue" && coats === 1 ? "--coats 1: is too few for --colour blue; give 2" : undefined;

const quote = (input: string) => JSON.stringify(input.replace("s3cret", "***"));
const read = (line: string, environment: Record<string, string> = { PLACE: "7" }) =>
  readFlags(table, { argv: line === "" ? [] : line.split(" "), environment, quote }, blueIsThin);

const enough = {
  colour: "red",
  coats: 2,
  file: "f",
  note: undefined,
  tag: [],
  dry: false,
  PLACE: 7,
  WALL: "w",
  DOOR: undefined,
};
const accepted: readonly (readonly [line: string, differing: Record<string, unknown>])[] = [
  ["--file f w", {}],
  ["w --file=f", {}],
  ["-f f w", {}],
  ["-ff w", {}],
  ["-f=f w", {}],
  ["-f== w", { file: "=" }],
  ["-f f -d=false w", {}],
  ["-f f -- -f=f", { WALL: "-f=f" }],
  ["--file f w d", { DOOR: "d" }],
  ["--colour blue --coats=3 --file f w", { colour: "blue", coats: 3 }],
  ["--tag b --tag a --file f w", { tag: ["b", "a"] }],
  ["--file f -- --colour", { WALL: "--colour" }],
  ["--file - -", { file: "-", WALL: "-" }],
  ["--file -dash w", { file: "-dash" }],
  ["--file=--colour w", { file: "--colour" }],
  ["--note= --file f w", { note: undefined }],
  ["--dry --file f w", { dry: true }],
  ["-d --file f w", { dry: true }],
  ["--file f --dry w", { dry: true }],
  ["--file f --dry=true w", { dry: true }],
  ["--file f --dry=false w", {}],
  ["--note=a=b --file f w", { note: "a=b" }],
];
for (const [line, differing] of accepted)
  test(`read: ${line}`, () =>
    assert.deepEqual(read(line), { ok: true, value: { ...enough, ...differing } }));

const refused: readonly (readonly [line: string, ...errors: string[]])[] = [
  ["", "--file: is missing; give the file to paint", "WALL: is missing; give the wall"],
  ["--file f w d x", '"x": belongs to no flag; remove it'],
  ["--file f w d s3cret", '"***": belongs to no flag; remove it'],
  ["--file --colour blue w", "--file: has no value; write --file=VALUE"],
  ["w --file", "--file: has no value; write --file=VALUE"],
  ["--file= w", "--file: is empty; give the file to paint"],
  [
    "-f f --file= w",
    "--file: is empty; give the file to paint",
    "--file: given 2 times; give it once",
  ],
  ["w --note -f f", "--note: has no value; write --note=VALUE"],
  ["w --note -f=f", "--note: has no value; write --note=VALUE"],
  ["-f= w", "--file: is empty; give the file to paint"],
  ["w --file --", "--file: has no value; write --file=VALUE"],
  ["-f f w --coats -1", '--coats "-1": is not a whole number from 1 to 9'],
  ["-f f w --coats s3cret", '--coats "***": is not a whole number from 1 to 9'],
  ["-f f w --coats 1 --coats 2", "--coats: given 2 times; give it once"],
  [
    "-f f w --tag a --tag c --tag d",
    '--tag "c": is not one of the choices; give a, b',
    '--tag "d": is not one of the choices; give a, b',
  ],
  ["-f f w --dry=no", '--dry "no": is neither true nor false'],
  ["-f f w --dry --dry", "--dry: given 2 times; give it once"],
  ["-f f --dry true w x", '"x": belongs to no flag; remove it'],
  ["-f f w --color blue", "--color: is not a flag; --help names all"],
  ["-f f w --color=s3cret", "--color: is not a flag; --help names all"],
  [`-f f w --${"a".repeat(40)}`, `--${"a".repeat(40)}: is not a flag; --help names all`],
  [`-f f w --${"a".repeat(41)}`, `"--${"a".repeat(41)}": is not a flag; --help names all`],
  ["-f f w d --password s3cret", "--password: is not a flag; --help names all"],
  ["-f f w -ps3cret", "-p: is not a flag; --help names all"],
  ["-f f w -colour", "-c: is not a flag; --help names all"],
  ["-f f w --hlp", "--hlp: is not a flag; --help names all"],
  ["-f f w --s3cret@host", '"--***@host": is not a flag; --help names all'],
  [
    "-f f w --__proto__=x --constructor",
    '"--__proto__": is not a flag; --help names all',
    "--constructor: is not a flag; --help names all",
  ],
  ["-f f w --no-note", "--no-note: is not a flag; --help names all"],
  ["-f f w --colour blue --coats 1", "--coats 1: is too few for --colour blue; give 2"],
  ["-f f w --colour blue --coats x", '--coats "x": is not a whole number from 1 to 9'],
];
for (const [line, ...errors] of refused)
  test(`refused: ${line}`, () => assert.deepEqual(read(line), { ok: false, errors }));

test("treats an empty required operand as missing, and an empty optional operand as absent", () => {
  const of = (...argv: string[]) => readFlags(table, { argv, environment: { PLACE: "7" }, quote });
  const errors = ["WALL: is empty; give the wall"];
  assert.deepEqual(of("-f", "f", ""), { ok: false, errors });
  assert.deepEqual(of("-f", "f", "w", ""), { ok: true, value: enough });
});

test("reads a variable only from the environment, and does not accept a flag with its name", () => {
  const errors = ["PLACE: is missing; give the number of the place"];
  assert.deepEqual(read("-f f w", {}), { ok: false, errors });
  assert.deepEqual(read("-f f w", { PLACE: "" }), {
    ok: false,
    errors: ['PLACE "": is not a whole number from 0 to 99'],
  });
  assert.deepEqual(read("-f f w --PLACE=1"), {
    ok: false,
    errors: ["--PLACE: is not a flag; --help names all"],
  });
});

test("accepts a request for help only before `--`", () => {
  const asked = [["--help"], ["w", "-h"], ["--", "--help"], ["--helpful"], []].map(asksForHelp);
  assert.deepEqual(asked, [true, true, false, false, false]);
});

test("shows in the usage a line for each row, with the value to give", () => {
  assert.equal(
    usage(table),
    [
      "  --coats    how many times it is put on [2]",
      "  --colour   of the paint [red]",
      "  --dry, -d  touch nothing",
      "  --file, -f the file to paint; required",
      "  --note     for the painter",
      "  --tag      to find it again; may be repeated",
      "  DOOR       the door in it",
      "  PLACE      the number of the place (environment)",
      "  WALL       the wall",
      "",
    ].join("\n"),
  );
});

test("shows no default in the usage if it is empty", () => {
  const row = { read: text, what: "for the painter" } as const;
  assert.equal(usage({ a: { ...row, standard: "" } }), "  --a for the painter\n");
  assert.equal(usage({ a: { ...row, standard: "0" } }), "  --a for the painter [0]\n");
});

test("does not read the letters after an unknown letter as another flag and its value", () => {
  const table = { name: { read: text, short: "n", what: "a name" } } as const;
  const read = readFlags(table, { argv: ["-ppl4nted"], quote: JSON.stringify });
  assert.deepEqual(read, { ok: false, errors: ["-p: is not a flag; --help names all"] });
});
