/** `status`: shows the state of the GlobalPullSecret, once or until you interrupt it. */
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import { clusterFlags } from "../cluster/flags.ts";
import { followObject, readObject } from "../cluster/object.ts";
import { withoutFields } from "../cluster/read.ts";
import { headline, statusLines, type Screen } from "../show/status.ts";
import { command } from "../terminal/command.ts";
import type { ScreenIo } from "../terminal/io.ts";
import { home, print, textOnly, watchFlags } from "../terminal/output.ts";
import { paintFor } from "../terminal/paint.ts";

/** The number of columns to use if the output is not a terminal. */
const columns = 80;

export const status = command(
  {
    group: "see",
    what: "show what is in force, which sources supplied it, and which nodes need help",
    example: "",
    more: "Reads only globalpullsecret/cluster, which it prints with -o json or yaml.",
    flags: { ...watchFlags, ...clusterFlags },
    rules: [textOnly],
  },
  async ({ watch, output, ...how }, io) => {
    const cluster = await io.reach(how);
    const screen = (): Screen => ({
      paint: paintFor(io.terminal),
      columns: io.terminal?.columns ?? columns,
      now: Date.now(),
    });
    const object = await readObject(cluster);
    if (watch) {
      const each = (now: GlobalPullSecret | undefined) => show(now, screen(), io);
      await followObject(cluster, { seconds: undefined, signal: io.signal, each });
      return 0;
    }
    await print(
      output,
      withoutFields(object),
      (pullSecret) => statusLines(pullSecret, screen()),
      io,
    );
    return 0;
  },
);

function show(object: GlobalPullSecret | undefined, screen: Screen, io: ScreenIo): undefined {
  if (object === undefined) {
    io.err("globalpullsecret/cluster: not found");
    return;
  }
  const short = (pullSecret: GlobalPullSecret) => [
    `${pullSecret.status?.nodes?.summary ?? "-"}\t${headline(pullSecret, screen.paint)}`,
  ];
  const whole = (pullSecret: GlobalPullSecret) => statusLines(pullSecret, screen);
  if (io.terminal === undefined) return void print("text", object, short, io);
  io.out(home);
  void print("text", object, whole, io);
}
