/** Lines over time or over a count, as one SVG. */
import { document, line, linear, palette, text, ticks, type Frame } from "./svg.ts";
import { number } from "../result/table.ts";

type Line = Readonly<{
  name: string;
  points: readonly (readonly [x: number, y: number])[];
}>;

export type Chart = Readonly<{
  title: string;
  x: string;
  y: string;
  lines: readonly Line[];
  /** Horizontal lines, such as a limit. */
  marks?: readonly Readonly<{ name: string; y: number }>[];
}>;

const frame: Frame = { width: 760, height: 380, leftMargin: 64, right: 150, top: 44, bottom: 52 };

export function drawLines(chart: Chart): string {
  const { lines, marks = [] } = chart;
  const all = lines.flatMap(({ points }) => points);
  const xs = all.map(([x]) => x);
  const ys = [...all.map(([, y]) => y), ...marks.map(({ y }) => y)];
  const [xTicks, yTicks] = [ticks(Math.max(...xs), 8), ticks(Math.max(...ys), 8)];
  const [right, bottom] = [frame.width - frame.right, frame.height - frame.bottom];
  const x = linear([xTicks[0] ?? 0, xTicks.at(-1) ?? 1], [frame.leftMargin, right]);
  const y = linear([yTicks[0] ?? 0, yTicks.at(-1) ?? 1], [bottom, frame.top]);
  const grid = 'stroke="#ddd"';
  return document(frame, chart.title, [
    ...xTicks.flatMap((tick) => [
      line(x(tick), frame.top, x(tick), bottom, grid),
      text(x(tick), bottom + 18, number(tick), 'text-anchor="middle"'),
    ]),
    ...yTicks.flatMap((tick) => [
      line(frame.leftMargin, y(tick), right, y(tick), grid),
      text(frame.leftMargin - 8, y(tick) + 4, number(tick), 'text-anchor="end"'),
    ]),
    text((frame.leftMargin + right) / 2, frame.height - 14, chart.x, 'text-anchor="middle"'),
    text(frame.leftMargin - 8, frame.top - 8, chart.y, 'text-anchor="end"'),
    ...marks.flatMap(({ name, y: at }) => [
      line(frame.leftMargin, y(at), right, y(at), 'stroke="#555" stroke-dasharray="5 4"'),
      text(right - 8, y(at) - 6, name, 'text-anchor="end" fill="#555"'),
    ]),
    ...lines.map((series, index) => drawLine(series, index, x, y)),
    ...lines.flatMap(({ name }, index) => {
      const at = frame.top + 14 + index * 20;
      const colour = `stroke="${palette[index % palette.length]}" stroke-width="3"`;
      return [line(right + 12, at - 4, right + 32, at - 4, colour), text(right + 38, at, name)];
    }),
  ]);
}

type Place = (value: number) => number;

function drawLine({ points }: Line, index: number, x: Place, y: Place): string {
  const colour = palette[index % palette.length];
  const places = points.map(([px, py]) => `${x(px).toFixed(1)},${y(py).toFixed(1)}`);
  return `<polyline points="${places.join(" ")}" fill="none" stroke="${colour}" stroke-width="2"/>`;
}
