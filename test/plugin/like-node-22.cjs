/** Like like-node-20.cjs, for features that Node 22 lacks. Node has zstd since 22.15. */
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
