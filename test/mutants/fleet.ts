/** Breakages of the fleet's controller. */
import type { Mutant } from "./mutant.ts";

const real = "test/fleet/fleet.test.ts";
const content = "fleet/secret/content.test.ts";
const order = "fleet/order/order.test.ts";

export const fleet: readonly Mutant[] = [
  {
    breaks: "K1",
    effect: "the fleet's Secret is brought to no cluster",
    file: "fleet/fleet.ts",
    text: "void this.#guests.get(name)?.change(source.content, owner);",
    instead: "continue;",
    tests: [real],
  },
  {
    breaks: "K2",
    effect: "the object's own name for the source is not heeded",
    file: "fleet/fleet.ts",
    text: "const { name } = spec.secretRef;",
    instead: "const name = `${spec.secretRef.name}-x`;",
    tests: [real],
  },
  {
    breaks: "K3",
    effect: "every namespace is served, whatever its labels",
    file: "fleet/fleet.ts",
    text: 'await this.#place.home.pages<V1Namespace>("/api/v1/namespaces", { labelSelector }, (page) => {',
    instead: 'await this.#place.home.pages<V1Namespace>("/api/v1/namespaces", {}, (page) => {',
    tests: [real],
  },
  {
    breaks: "K6",
    effect: "what a cluster has is taken for the Secret, whatever its content",
    file: "fleet/secret/content.ts",
    text: "data[name] === content.data[name])",
    instead: "true)",
    tests: [content],
  },
  {
    breaks: "K8",
    effect: "without its Secret an object takes it for an empty one",
    file: "fleet/secret/content.ts",
    text: "if (secret === undefined)",
    instead: "if (secret === null)",
    tests: [content],
  },
  {
    breaks: "K9",
    effect: "a change of the Secret is brought to no cluster that has it already",
    file: "fleet/fleet.ts",
    text: "if (secret !== undefined && has(secret, content))",
    instead: "if (secret !== undefined)",
    tests: [real],
  },
  {
    effect: "a Secret that somebody else placed in a cluster is overwritten",
    file: "fleet/fleet.ts",
    text: "if (secret !== undefined && !isPlacedBy(secret, owner))",
    instead: "if (secret === null)",
    tests: [real],
  },
  {
    effect: "a cluster that cannot be reached is the canary for ever",
    file: "fleet/order/order.ts",
    text: 'standing !== "unreachable").length',
    instead: "standing !== undefined).length",
    tests: [order],
  },
  {
    effect: "a refused change goes on to all other clusters",
    file: "fleet/order/order.ts",
    text: 'halted ? named("retry") :',
    instead: "",
    tests: [order],
  },
];
