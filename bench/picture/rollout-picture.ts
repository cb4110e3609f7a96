/** A picture of one rollout: the steps of each node, with their times. */
import type { V1Pod } from "@kubernetes/client-node";
import * as names from "#contract/names.ts";
import type { Testbed } from "../testbed/testbed.ts";
import { change } from "../testbed/change.ts";
import { document, line, linear, palette, text, ticks, type Frame } from "./svg.ts";

/** The times of a node's steps, in this order, in seconds since the Secret was written. */
type Steps = Readonly<{
  node: string;
  /** The controller has patched the node's pod. */
  grant: number;
  /** config.json is in place, and the restart is requested. */
  written: number;
  /** systemd has finished the restart job. */
  job: number;
  healthz: number;
  /** The agent's pod is Ready, and stays Ready. */
  ready: number;
}>;

const spans = [
  ["grant", "written", "notice, decide, write"],
  ["written", "job", "restart job"],
  ["job", "healthz", "until healthz"],
  ["healthz", "ready", "probation, proof"],
] as const;

const frame: Frame = { width: 860, height: 0, leftMargin: 70, right: 24, top: 62, bottom: 50 };

/** Makes one change on the testbed, one node at a time, and draws it. */
export async function drawRollout(testbed: Testbed): Promise<string> {
  const { begun, revision } = await change(testbed);
  return drawSteps(await stepsOf(testbed, begun, revision));
}

/** Pure part: bars from left to right, one row for each node, in rollout order. */
export function drawSteps(steps: readonly Steps[]): string {
  const rows = steps.toSorted((a, b) => a.grant - b.grant);
  const height = frame.top + rows.length * 34 + frame.bottom;
  const [right, bottom] = [frame.width - frame.right, height - frame.bottom];
  const marks = ticks(Math.max(...rows.map(({ ready }) => ready)), 10);
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
      const mine = testbed.pods.seen.filter(({ at, object }) => {
        const granted =
          object.metadata?.annotations?.[names.revisionAnnotation] === String(revision);
        return at >= begun && granted && object.spec?.nodeName === node.name;
      });
      const [first] = mine;
      // The pod can also be Ready before the restart, therefore the pod's last return to Ready
      // counts.
      const ready = mine[mine.findLastIndex(({ object }) => !isReady(object)) + 1];
      if (first === undefined || ready === undefined)
        throw new Error(`no pod was granted revision ${revision} on ${node.name}`);
      const log = (await logOf(testbed, first.object)).filter(
        ({ time }) => Date.parse(time) >= begun,
      );
      const back = await healthz.backAfter(begun);
      const time = (fits: (line: LogLine) => boolean) => Date.parse(log.find(fits)?.time ?? "");
      return {
        node: node.name,
        grant: seconds(first.at),
        written: seconds(time(({ action, msg }) => action === "restart" && !msg.startsWith("job"))),
        job: seconds(time(({ msg }) => msg.startsWith("job"))),
        healthz: seconds(back),
        ready: seconds(ready.at),
      };
    }),
  );
}

type LogLine = { time: string; action?: string; msg: string };

async function logOf({ cluster }: Testbed, pod: V1Pod): Promise<LogLine[]> {
  const log = ["logs", "-n", names.namespace, pod.metadata?.name ?? ""];
  // The canary's container ends to prove the revision, therefore its steps are in the log of the
  // previous container.
  const before = await cluster.kubectl(...log, "--previous").catch(() => "");
  return `${before}\n${await cluster.kubectl(...log)}`
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as LogLine);
}

function isReady({ status }: V1Pod): boolean {
  return (
    status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true
  );
}
