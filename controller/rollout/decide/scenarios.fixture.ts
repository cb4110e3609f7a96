/** For tests: what happens to a cluster of the model, in words. */
import assert from "node:assert/strict";
import { Model } from "./decide.fixture.ts";

export const minutes = 60;
export const hours = 3600;

/** A cluster of this size whose nodes all have the first content. */
export function deployed(size: number, budget: number | string = 1, sources = "{}"): Model {
  const model = new Model(size, budget);
  model.sources = sources;
  model.converge();
  assert.ok(model.isDone());
  model.pass(20, () => phase(model) === "served");
  return model;
}

/** How many nodes have this content in force. */
export const having = (model: Model, number: number) =>
  model.nodes.filter(({ applied }) => applied === `document ${number}`).length;
export const restarts = (model: Model, number: number) =>
  model.nodes.map(
    (node) => node.restarts.filter((document) => document === `document ${number}`).length,
  );
export const phase = (model: Model) =>
  model.turn?.kind === "wait" ? model.turn.phase : model.turn?.kind;
export const isHeld = (model: Model) => model.contents.get(model.published)?.intent === "hold";
export const at = (model: Model, index: number) => {
  const node = model.nodes[index];
  assert.ok(node);
  return node;
};
export function out(model: Model, which: (index: number) => boolean = () => true): void {
  for (const [index, node] of model.nodes.entries()) if (which(index)) model.die(node);
}
export function back(model: Model): void {
  for (const node of model.nodes) model.revive(node, "rebooted");
}
