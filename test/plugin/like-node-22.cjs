/**
 * Loaded before a program: removes the globals and methods that Node 24 has and Node 22 lacks. Then
 * a program that needs them fails as on Node 22. The list comes from a comparison of both versions.
 * Node's internals keep their own references.
 */
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
