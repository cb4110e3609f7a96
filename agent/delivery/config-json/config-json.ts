/**
 * Delivery by config.json in the kubelet's directory. The kubelet reads it at its start, and keeps
 * what it has read for five minutes.
 */
import { join } from "node:path";
import { nodeFiles } from "#contract/names.ts";
import { remove, replace } from "#agent/files/atomic-write.ts";
import type { Delivery } from "../delivery.ts";
import { readFile } from "./file.ts";
import { foundOf } from "./observation.ts";

export const configJson: Delivery = {
  names: [nodeFiles.config],
  read(directory) {
    const file = readFile(join(directory, nodeFiles.config));
    return file.kind === "absent" || file.kind === "file" ? foundOf(file) : file;
  },
  async write({ file }, { identity: expected }, directory) {
    const target = join(directory, nodeFiles.config);
    const folder = join(directory, nodeFiles.folder);
    if ("absent" in file) await remove(target, expected);
    else await replace({ target, folder, ...file, expected });
  },
};
