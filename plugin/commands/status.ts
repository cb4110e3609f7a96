/** `status`: shows the state of the GlobalPullSecret. */
import { clusterFlags } from "../cluster/flags.ts";
import { readObject } from "../cluster/object.ts";
import { withoutFields } from "../cluster/read.ts";
import { statusLines } from "../show/status.ts";
import { command } from "../terminal/command.ts";
import { outputFlag, print } from "../terminal/output.ts";
import { paintFor } from "../terminal/paint.ts";

export const status = command(
  {
    group: "see",
    what: "show what is in force, which sources supplied it, and which nodes need help",
    example: "",
    more: "Reads only globalpullsecret/cluster, which it prints with -o json or yaml.",
    flags: { ...outputFlag, ...clusterFlags },
  },
  async ({ output, ...how }, io) => {
    const object = await readObject(await io.reach(how));
    const screen = { paint: paintFor(io.colour), now: Date.now() };
    const lines = (shown: typeof object) => statusLines(shown, screen);
    await print(output, withoutFields(object), lines, io);
    return 0;
  },
);
