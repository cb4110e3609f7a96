/** Lists the one-line breakages of a source file: small edits that keep it a valid program. */
import { parseSync, Visitor, type Node } from "oxc-parser";

/** Replaces the source's characters from `start` to `end` by `text`. */
export type Breakage = Readonly<{ start: number; end: number; text: string; what: string }>;

const opposite: Readonly<Record<string, string>> = {
  "===": "!==",
  "!==": "===",
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "&&": "||",
  "||": "&&",
};

export function breakagesOf(path: string, source: string): readonly Breakage[] {
  const breakages: Breakage[] = [];
  const textOf = ({ start, end }: Node) => source.slice(start, end);
  const replace = ({ start, end }: Node, text: string, what: string) =>
    breakages.push({ start, end, text, what });
  const negate = (test: Node) => replace(test, `!(${textOf(test)})`, "negates a condition");
  /** An item with its comma, so that the list stays valid without it. */
  const drop = (item: Node, what: string) => {
    const comma = /^\s*,/.exec(source.slice(item.end))?.[0].length ?? 0;
    breakages.push({ start: item.start, end: item.end + comma, text: "", what });
  };
  new Visitor({
    IfStatement({ test, alternate }) {
      negate(test);
      if (alternate === null) replace(test, "false", "drops a guard");
    },
    ConditionalExpression: ({ test }) => negate(test),
    WhileStatement: ({ test }) => negate(test),
    LogicalExpression(node) {
      const { left, right, operator } = node;
      replace(node, textOf(left), `drops the right side of ${operator}`);
      if (operator !== "??") replace(node, textOf(right), `drops the left side of ${operator}`);
    },
    BinaryExpression({ left, right, operator }) {
      const other = opposite[operator];
      const between = source.slice(left.end, right.start);
      if (other === undefined || !between.includes(operator)) return;
      const at = left.end + between.indexOf(operator);
      const what = `turns ${operator} into ${other}`;
      breakages.push({ start: at, end: at + operator.length, text: other, what });
    },
    AwaitExpression: (node) => replace(node, textOf(node.argument), "drops an await"),
    Literal(node) {
      if (typeof node.value === "number") replace(node, `${node.value + 1}`, "adds 1");
    },
    ArrayExpression(node) {
      if (node.elements.length > 0) replace(node, "[]", "empties a list");
    },
    ObjectExpression({ properties }) {
      for (const property of properties) drop(property, "drops a field");
    },
    ExpressionStatement(node) {
      if (node.expression.type === "Literal") return;
      replace(node, ";", "drops a statement");
    },
  }).visit(parseSync(path, source).program);
  return breakages;
}
