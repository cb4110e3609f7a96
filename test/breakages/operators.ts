/** Lists the breakages of a source file. Each is one edit of one expression. */
import { parseSync, Visitor } from "oxc-parser";

type Range = Readonly<{ start: number; end: number }>;

/** A file's source, the source with one edit, and a text that describes the edit. */
export type Breakage = Readonly<{ file: string; source: string; broken: string; edit: string }>;

/** In pairs: each takes the place of the other. */
const pairs = "=== !== < <= > >= + - * / true false min max some every startsWith endsWith".split(
  " ",
);

/** Methods whose result has the type of the value that they are called on. */
const narrowing = new Set(["filter", "slice", "toReversed", "toSorted", "trim"]);

/** Calls whose effect only people notice. A test of them would repeat the text. */
const logs = /(?:^|[.#])log(?:ger)?(?:\.\w+|\[.*\])?$/s;

export function breakagesOf(file: string, source: string): readonly Breakage[] {
  const ignored: Range[] = [];
  /** The linter refuses a statement that leaves a promise alone. */
  const statements = new Set<Range>();
  const edits: (Range & { text: string })[] = [];
  const textOf = ({ start, end }: Range) => source.slice(start, end);
  const replace = (range: Range, text: string) => {
    const { start, end } = range;
    if (textOf(range) !== text) edits.push({ start, end, text });
  };
  const swap = (range: Range, word = textOf(range)) => {
    const at = pairs.indexOf(word);
    if (at >= 0) replace(range, pairs[at ^ 1] ?? "");
  };
  const negate = ({ test }: { test: Range }) => replace(test, `!(${textOf(test)})`);
  new Visitor({
    TSLiteralType: (node) => void ignored.push(node),
    CallExpression(node) {
      const { callee } = node;
      if (logs.test(textOf(callee))) ignored.push(node);
      if (callee.type === "MemberExpression" && narrowing.has(textOf(callee.property)))
        replace(node, textOf(callee.object));
    },
    IfStatement(node) {
      negate(node);
      replace(node.test, "false");
    },
    ConditionalExpression(node) {
      negate(node);
      // Only the sign of a comparison's result counts.
      const { consequent, alternate } = node;
      if (textOf(consequent) === "-1" && textOf(alternate) === "1")
        ignored.push(consequent, alternate);
    },
    LogicalExpression(node) {
      replace(node, textOf(node.left));
      replace(node, textOf(node.right));
    },
    BinaryExpression({ left, right, operator }) {
      const start = source.indexOf(operator, left.end);
      if (start < right.start) swap({ start, end: start + operator.length });
    },
    MemberExpression: ({ property }) => swap(property),
    AwaitExpression(node) {
      if (!statements.has(node)) replace(node, textOf(node.argument));
    },
    Literal(node) {
      swap(node);
      // A longer time or a larger limit is another choice, and seldom a mistake.
      if (/^\d$/.test(textOf(node))) replace(node, `${Number(node.value) + 1}`);
    },
    ArrayExpression: (node) => replace(node, "[]"),
    ObjectExpression({ properties }) {
      for (const property of properties) replace(property, "...{}");
    },
    ExpressionStatement({ expression }) {
      statements.add(expression);
      replace(expression, "undefined");
    },
  }).visit(parseSync(file, source).program);
  return edits
    .filter(({ start, end }) => !ignored.some((range) => range.start <= start && end <= range.end))
    .map(({ start, end, text }) => {
      const line = source.slice(0, start).split("\n").length;
      const what = `${source.slice(start, end)} → ${text}`.replaceAll(/\s+/g, " ");
      const broken = source.slice(0, start) + text + source.slice(end);
      return { file, source, broken, edit: `${file}:${line}: ${what}` };
    });
}
