/** Breakages of sealed files. */
import type { Mutant } from "./mutant.ts";

export const sealed: readonly Mutant[] = [
  {
    breaks: "M8",
    effect: "a value is bound to nothing, so that any namespace of the cluster can open it",
    file: "cli/seal/encrypt.ts",
    text: "return { strict: `${namespace}/${name}`,",
    instead: 'return { strict: "",',
    tests: ["cli/seal/encrypt.test.ts"],
  },
  {
    breaks: "M9",
    effect: "the pull secret stands in the file as it is",
    file: "cli/seal/encrypt.ts",
    text: "const body = Buffer.concat([cipher.update(value), cipher.final()]);",
    instead: "const body = Buffer.from(value);",
    tests: ["cli/seal/encrypt.test.ts"],
  },
  {
    breaks: "M10",
    effect: "the key is wrapped by another hash than the controller unwraps it with",
    file: "cli/seal/encrypt.ts",
    text: 'oaepHash: "sha256", oaepLabel }, key);',
    instead: 'oaepHash: "sha1", oaepLabel }, key);',
    tests: ["cli/seal/encrypt.test.ts"],
  },
  {
    breaks: "M11",
    effect: "what is not a pull secret is sealed, and breaks nodes once it is opened",
    file: "cli/commands/clusters/seal.ts",
    text: "for (const line of (await verdictOn(document, [])).warnings) io.err(line);",
    instead: "",
    tests: ["cli/commands/clusters/seal.test.ts"],
  },
  {
    effect: "the controller is told of no scope that is wider than a namespace",
    file: "cli/seal/sealed-secret.ts",
    text: '"cluster-wide": "sealedsecrets.bitnami.com/cluster-wide",',
    instead: '"cluster-wide": undefined,',
    tests: ["cli/commands/clusters/seal.test.ts"],
  },
  {
    effect: "the index holds a digest of the content, against which a password can be guessed",
    file: "cli/seal/sealed-index.ts",
    text: "const index = { version, namespace, name, scope,",
    instead: 'const index = { version, digest: "", namespace, name, scope,',
    tests: ["cli/commands/clusters/seal.test.ts"],
  },
];
