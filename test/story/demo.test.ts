/** The demo on scripted nodes. Its claims are the assertions. */
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { freshBundle } from "#tools/build/bundle.ts";
import { Narrator } from "../demo/narrator.ts";
import { showOffline } from "../demo/offline.ts";
import { scripts } from "../demo/script.ts";
import { procFlags, ScriptedCluster } from "../demo/scripted.ts";
import { runScripted } from "../demo/scripted-story.ts";
import { AgentProcess, NodeDirectory } from "../harness/agent/agent.ts";
import { ScriptedSystemd } from "../harness/agent/scripted-systemd.ts";

const skip = process.platform !== "linux" && "the agent needs Linux's /proc";

test("shows every claim of npm run demo, and no credential in any log", { skip }, async () => {
  await freshBundle();
  const screen = new PassThrough().setEncoding("utf8");
  const narrator = new Narrator(screen, scripts.scripted);
  await using cluster = await ScriptedCluster.start();
  showOffline(narrator);
  await runScripted(cluster, narrator, "1s");
  narrator.end();
  const printed = `${screen.read()}${cluster.output}`;
  for (const password of ["robot:", "cm9ib3Q6"]) assert.ok(!printed.includes(password), password);
});

test("proves content with the scripted /proc that the demo uses on macOS", async () => {
  using node = new NodeDirectory();
  await using systemd = await ScriptedSystemd.start(node.systemd);
  node.mount(1, { additional: { "a.io": "secret" } });
  const options = { revision: 1, healthzPort: systemd.healthzPort, nodeFlags: procFlags };
  await using agent = await AgentProcess.start(node, options);
  await agent.proves();
});
