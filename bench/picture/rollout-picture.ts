/** A picture of one rollout: the steps of each node, with their times. */
import * as names from "#contract/names.ts";
import { agents } from "#test/controller/plane.ts";
import type { Testbed } from "../testbed/testbed.ts";
import { change } from "../testbed/change.ts";
import { document, line, linear, palette, text, ticks, type Frame } from "./svg.ts";

/** The times of a node's steps, in this order, in seconds since the Secret was written. */
type Steps = Readonly<{
  node: string;
  /** The controller has written the node's order. */
  order: number;
  /** config.json is in place, and the restart is requested. */
  written: number;
  /** systemd has finished the restart job. */
  job: number;
  healthz: number;
  /** The agent's report has reached the API server. */
  report: number;
}>;

const spans = [
  ["order", "written", "notice, decide, write"],
  ["written", "job", "restart job"],
  ["job", "healthz", "until healthz"],
  ["healthz", "report", "probation, report"],
] as const;

const frame: Frame = { width: 860, height: 0, leftMargin: 70, right: 24, top: 62, bottom: 50 };

/** Makes one change on the testbed, one node at a time, and draws it. */
export async function drawRollout(testbed: Testbed): Promise<string> {
  const { begun, revision } = await change(testbed);
  return drawSteps(await stepsOf(testbed, begun, revision));
}

/** Pure part: bars from left to right, one row for each node, in rollout order. */
export function drawSteps(steps: readonly Steps[]): string {
  const rows = steps.toSorted((a, b) => a.order - b.order);
  const height = frame.top + rows.length * 34 + frame.bottom;
  const [right, bottom] = [frame.width - frame.right, height - frame.bottom];
  const marks = ticks(Math.max(...rows.map(({ report }) => report)), 10);
  const x = linear([0, marks.at(-1) ?? 1], [frame.leftMargin, right]);
  return document({ ...frame, height }, "One rollout, one node at a time", [
    ...spans.flatMap(([, , name], index) => {
      const at = frame.leftMargin + index * 180;
      return [
        `<rect x="${at}" y="36" width="12" height="12" ${swatch(index)}/>`,
        text(at + 17, 47, name),
      ];
    }),
    ...marks.flatMap((mark) => [
      line(x(mark), frame.top, x(mark), bottom, 'stroke="#ddd"'),
      text(x(mark), bottom + 18, String(mark), 'text-anchor="middle"'),
    ]),
    text(
      (frame.leftMargin + right) / 2,
      height - 12,
      "seconds since additional-pull-secret was written",
      'text-anchor="middle"',
    ),
    ...rows.map((row, index) => drawRow(row, frame.top + 8 + index * 34, x)),
  ]);
}

function drawRow(row: Steps, y: number, x: (seconds: number) => number): string {
  const bars = spans.map(([from, to], span) => {
    const width = Math.max(0, x(row[to]) - x(row[from]));
    return `<rect x="${x(row[from]).toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="20" ${swatch(span)}/>`;
  });
  return [text(frame.leftMargin - 8, y + 15, row.node, 'text-anchor="end"'), ...bars].join("\n");
}

function swatch(index: number): string {
  return `fill="${palette[index % palette.length]}"`;
}

/** Takes the times from the API server's events and the agents' logs. */
async function stepsOf(
  testbed: Testbed,
  begun: number,
  revision: number,
): Promise<readonly Steps[]> {
  const seconds = (at: number) => (at - begun) / 1000;
  return await Promise.all(
    testbed.nodes.map(async ({ node, healthz }) => {
      const { nodePullSecrets } = testbed;
      const isAsked = ({ object: { metadata, spec } }: (typeof nodePullSecrets.seen)[number]) =>
        metadata.name === node.name && spec.revision === revision;
      const order = await nodePullSecrets.first(`${node.name} is asked`, isAsked, begun);
      // The controller can see the last report before our watch does.
      const report = await nodePullSecrets.first(
        `${node.name} has proved revision ${revision}`,
        (seen) => {
          const { spec, status } = seen.object;
          return isAsked(seen) && status?.attempt === spec.attempt && status.result === "Proved";
        },
        begun,
      );
      const log = (await logOf(testbed, node.name)).filter(({ time }) => Date.parse(time) >= begun);
      const back = await healthz.backAfter(begun);
      const time = (fits: (line: LogLine) => boolean) => Date.parse(log.find(fits)?.time ?? "");
      return {
        node: node.name,
        order: seconds(order.at),
        written: seconds(time(({ action, msg }) => action === "restart" && !msg.startsWith("job"))),
        job: seconds(time(({ msg }) => msg.startsWith("job"))),
        healthz: seconds(back),
        report: seconds(report.at),
      };
    }),
  );
}

type LogLine = { time: string; action?: string; msg: string };

async function logOf({ api, cluster }: Testbed, node: string): Promise<LogLine[]> {
  const pod = (await agents({ api })).find(({ spec }) => spec?.nodeName === node);
  const log = await cluster.kubectl("logs", "-n", names.namespace, pod?.metadata?.name ?? "");
  return log
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as LogLine);
}
