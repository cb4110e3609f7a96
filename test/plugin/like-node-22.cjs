/** As like-node-20.cjs, for what Node 24 has and Node 22 lacks. Node 22 has zstd since 22.15. */
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
