/** kubectl runs a file of this name on the PATH as `kubectl pull-secret`. */
export const plugin = "kubectl-pull_secret";

/**
 * Starts the bundle in the same folder with the Node that npm installed in this checkout, because
 * the machine's Node might be too old to reach a cluster. On macOS, for which npm has no Node, the
 * launcher uses the machine's Node. The launcher is a shell script, because Node cannot replace its
 * process with another program, and would have to pass on signals.
 */
export const launcher = `#!/bin/sh
# Made by npm run build. Link to it from a folder of your PATH, or add this folder to the PATH.
here=$(dirname "$(readlink -f "$0")")
for node in "$here"/../node_modules/node-*-*/bin/node; do
  # This Node does not start on machines with another C library.
  if "$node" --version >/dev/null 2>&1; then exec "$node" "$here/${plugin}.cjs" "$@"; fi
done
if command -v node >/dev/null; then exec node "$here/${plugin}.cjs" "$@"; fi
echo "There is no Node.js on the PATH. Install version 22.19 or newer (nodejs.org)." >&2
exit 127
`;
