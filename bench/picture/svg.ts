/** A minimal plot writer: a frame, axes with round numbers, and a position for each value. */

/** Colours that people with every kind of colour vision can distinguish, on white and dark grey. */
export const palette = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"] as const;

export type Frame = Readonly<{
  width: number;
  height: number;
  leftMargin: number;
  right: number;
  top: number;
  bottom: number;
}>;

export function text(x: number, y: number, words: string, more = ""): string {
  const escaped = words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<text x="${round(x)}" y="${round(y)}" ${more}>${escaped}</text>`;
}

export function line(x1: number, y1: number, x2: number, y2: number, more: string): string {
  return `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" ${more}/>`;
}

export function document(
  { width, height }: Frame,
  title: string,
  parts: readonly string[],
): string {
  const style = 'font-family="sans-serif" font-size="12" fill="#222"';
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" ${style}>`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    text(16, 22, title, 'font-size="15" font-weight="bold"'),
    ...parts,
    "</svg>\n",
  ].join("\n");
}

/** A function from values to positions. */
export function linear(
  [from, to]: readonly [number, number],
  [start, end]: readonly [number, number],
) {
  return (value: number): number => start + ((value - from) / (to - from)) * (end - start);
}

/** About `count` round numbers (1, 2 or 5 times a power of ten apart) from 0 to at least `most`. */
export function ticks(most: number, count = 5): number[] {
  const rough = Math.max(most, Number.MIN_VALUE) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) ?? 10) * power;
  const steps = Math.ceil((most / step) * 0.999);
  return Array.from({ length: steps + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
