/** Checks that Node.js has the features that the plugin needs. main.ts imports this file first. */
import * as zlib from "node:zlib";

// The client's HTTP library cannot load without zstd, which Node.js has since 22.15 and 23.8. This
// library is made for Node.js 22.19 and newer.
if (typeof zlib.createZstdDecompress !== "function") {
  process.stderr.write(
    `Node.js ${process.versions.node} is too old. Install Node.js 22.19 or newer (nodejs.org).\n`,
  );
  process.exit(2);
}
