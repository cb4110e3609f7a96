/** Like like-node-20.cjs, for Node 22. Does not remove zstd, which Node 22 has since 22.15. */
require("./without.cjs")({
  Atomics: ["pause"],
  "DataView.prototype": ["getFloat16", "setFloat16"],
  Error: ["isError"],
  Math: ["f16round"],
  Promise: ["try"],
  RegExp: ["escape"],
  globalThis: "AsyncDisposableStack DisposableStack Float16Array SuppressedError URLPattern".split(
    " ",
  ),
});
