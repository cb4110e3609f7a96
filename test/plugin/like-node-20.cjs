/**
 * Loaded before a program: takes away what Node 24 has and Node 20 lacks, as far as it is in the
 * language or a global. So what needs it fails on a machine without Node 20, too. Compared by
 * listing both; internals of Node keep their own references.
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

// In Node since 22.15.
delete require("node:zlib").createZstdDecompress;
