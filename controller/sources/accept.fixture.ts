/** For tests: sources, and our Secrets after they were accepted. */
import assert from "node:assert/strict";
import type { V1Secret } from "@kubernetes/client-node";
import { secretType } from "#contract/names.ts";
import { accept, type Sources, type SourcesVerdict } from "./accept.ts";
import {
  additionalInput,
  extraInput,
  originalInput,
  type AdditionalInput,
  type ExtraInput,
  type Original,
} from "./input.ts";
import { globalSecret, newSalt, readPublished } from "../objects/global-secret.ts";
import { noState } from "../objects/state.fixture.ts";
import { readState, stateSecret } from "../objects/state.ts";

export const policy = { conflicts: "additional", protect: [] } as const;
export const auth = (pair: string) => ({ auth: Buffer.from(pair).toString("base64") });
export const text = (entries: Record<string, string>) =>
  JSON.stringify({
    auths: Object.fromEntries(
      Object.entries(entries).map(([registry, pair]) => [registry, auth(pair)]),
    ),
  });
export const secret = (document: string | undefined, type = secretType): V1Secret => ({
  type,
  data:
    document === undefined ? {} : { ".dockerconfigjson": Buffer.from(document).toString("base64") },
});

/** What a read of each source finds. */
export type Finds = Omit<Sources, "inputs"> &
  Readonly<{
    additional: AdditionalInput["lookup"] | undefined;
    /** The highest priority first. */
    extras: Readonly<Record<string, ExtraInput["lookup"]>>;
    original: Original;
    /** undefined: there is no original. */
    originalName: string | undefined;
  }>;

export function sources(changes: Partial<Finds>): Sources {
  const { additional, extras, original, originalName, published, state } = {
    additional: undefined,
    extras: {},
    original: "absent" as const,
    originalName: undefined,
    published: undefined,
    state: noState,
    ...changes,
  };
  const between = Object.entries(extras).map(([id, lookup]) =>
    extraInput(id, `kube-system/${id}-pull`, lookup),
  );
  const last = originalName === undefined ? [] : [originalInput(originalName, original)];
  return {
    inputs: [additionalInput(additional ?? "absent"), ...between, ...last],
    published,
    state,
  };
}

/** The content of both our Secrets after these sources were accepted. */
export const acceptedFrom = (finds: Partial<Finds>) => remembered(accept(sources(finds), policy));

export function remembered({ target, accepted }: SourcesVerdict) {
  assert.ok(target);
  const newest = { ...target, salt: newSalt(), revision: 1 };
  const published = readPublished(
    globalSecret({ newest, mode: "Restart", served: newest, publishedAt: 1, former: "" }),
  );
  assert.ok(published);
  return { published, state: readState(stateSecret({ ...noState, accepted })) };
}

export const additional = secret(text({ "quay.io": "add:1", "a.example": "add:2" }));
export const original = secret(text({ "quay.io": "orig:1", "o.example": "orig:2" }));
export const originalName = "kube-system/pull-secret";
export const bad = secret('{"auths":{"quay.io":{"auth":"%%%"}}}');
