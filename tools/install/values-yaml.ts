/**
 * Writes the schema's descriptions as comments into the chart's values.yaml, which `helm show
 * values` prints. The values in that file are written by hand.
 */
import { dump, load } from "js-yaml";
import { textOf } from "./yaml.ts";

type Described = Readonly<{
  description: string;
  properties?: Readonly<Record<string, Described>>;
}>;

type Values = Readonly<Record<string, unknown>>;

const width = 100;

/** The text of values.yaml with a comment for each property of the schema. */
export function describedValues(schema: Described): string {
  return `${linesOf(schema, load(textOf("chart/values.yaml")) as Values, "")
    .join("\n")
    .trim()}\n`;
}

function linesOf({ properties = {} }: Described, values: Values, indent: string): string[] {
  const isUnset = ([name]: readonly [string, unknown]): number =>
    Number(values[name] === undefined);
  const unsetLast = Object.entries(properties).toSorted((a, b) => isUnset(a) - isUnset(b));
  return unsetLast.flatMap(([name, property]) => {
    const gap = indent === "" ? [""] : [];
    const value = values[name];
    if (value === undefined) return gap.concat(comment(`${name}: ${property.description}`, indent));
    const isGroup = Object.keys(value as object).length > 0 && property.properties !== undefined;
    const text = isGroup
      ? [`${name}:`, ...linesOf(property, value as Values, "  ")]
      : dump({ [name]: value }, { quoteStyle: "double" })
          .trimEnd()
          .split("\n");
    return gap.concat(
      comment(property.description, indent),
      text.map((line) => `${indent}${line}`),
    );
  });
}

/** Wraps a text in comment lines of at most `width` characters. */
function comment(text: string, indent: string): string[] {
  const lines = [`${indent}#`];
  for (const word of text.split(" ")) {
    const last = lines.at(-1) ?? "";
    if (last.length + word.length < width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`${indent}# ${word}`);
  }
  return lines;
}
