/**
 * Loaded before a program: removes the globals and methods that Node 24 has and Node 20 lacks. Then
 * a program that needs them fails as on Node 20. The list comes from a comparison of both versions.
 * Node's internals keep their own references.
 */
require("./without.cjs")({
  Array: ["fromAsync"],
  "ArrayBuffer.prototype": ["detached", "transfer", "transferToFixedLength"],
  Error: ["isError"],
  "Iterator.prototype": [
    ..."drop every filter find flatMap forEach map reduce some take toArray".split(" "),
    Symbol.dispose,
  ],
  JSON: ["isRawJSON", "rawJSON"],
  Map: ["groupBy"],
  Object: ["groupBy"],
  Promise: ["try", "withResolvers"],
  RegExp: ["escape"],
  "Set.prototype": [
    ..."difference intersection isDisjointFrom isSubsetOf isSupersetOf".split(" "),
    ..."symmetricDifference union".split(" "),
  ],
  globalThis: [
    ..."AsyncDisposableStack DisposableStack Float16Array Iterator SuppressedError".split(" "),
    ..."URLPattern WebSocket navigator".split(" "),
  ],
});

// Node has this function since 22.15.
delete require("node:zlib").createZstdDecompress;
