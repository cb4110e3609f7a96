/**
 * Plays the story (story.ts) on a fake API server with the real controller process. It needs no
 * root and no cluster.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freshBundle } from "#tools/build/bundle.ts";
import { fieldManager } from "#kube/client/ownership.ts";
import { startController, type Controller } from "../controller/plane/process.ts";
import { directly } from "./api/direct.ts";
import { install } from "./api/installed.ts";
import { FakeServer } from "./api/server.ts";
import { NodesDriver } from "./nodes/drive.ts";
import { play, type Chapter } from "./story.ts";

const reading: ReadonlySet<string> = new Set(["get", "list", "watch"]);

export async function playOnFakeApi(): Promise<Chapter[]> {
  await freshBundle();
  await using server = await FakeServer.start();
  const api = server.api("story");
  install(api);
  const directory = mkdtempSync(join(tmpdir(), "story-"));
  const kubeconfig = join(directory, "kubeconfig");
  writeFileSync(kubeconfig, server.kubeconfig("story"), { mode: 0o600 });
  await using nodes = new NodesDriver(directly(api, "nodes"), { daemonSets: true }).start();
  let controller: Controller | undefined;
  try {
    return await play({
      admin: directly(api, "administrator"),
      nodes,
      start: () => (controller = startController(kubeconfig)),
      writes: () =>
        api.asked.filter(({ userAgent, verb }) => userAgent === fieldManager && !reading.has(verb)),
    });
  } finally {
    await controller?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  }
}
