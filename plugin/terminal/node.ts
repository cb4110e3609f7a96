/** Checks that Node.js has the features that the plugin needs. main.ts imports this file first. */
import * as zlib from "node:zlib";
import { Misuse } from "./io.ts";

/** Node.js 18 lacks features that every command uses, such as String.prototype.isWellFormed. */
const least = 20;

const { node } = process.versions;
if (Number.parseInt(node, 10) < least) {
  process.stderr.write(
    `Node.js ${node} is too old. Install Node.js ${least} or newer (nodejs.org).\n`,
  );
  process.exit(2);
}

/**
 * Throws Misuse if this Node.js cannot reach a cluster: the client's HTTP library cannot load
 * without zstd, which Node.js has since 22.15 and 23.8. This library is made for Node.js 22.19 and
 * newer.
 */
export function requireClusterSupport(has: object = zlib): void {
  if (!("createZstdDecompress" in has))
    throw new Misuse(
      `Node.js ${node} is too old to reach a cluster; install Node.js 22.19 or newer (nodejs.org)`,
    );
}
