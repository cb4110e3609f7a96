/**
 * What the API server made of what we declared, where that is not the same: other people's
 * admission changed it. As long as neither side changes there is nothing to write; after a minute
 * it is asked again, so that a policy that is withdrawn is noticed.
 */
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { KubernetesObject, V1ObjectMeta } from "@kubernetes/client-node";
import { differing } from "./contains.ts";

/** An answer is believed for so long. A question is one dry run: 10 ms of the API server. */
export const believedSeconds = 60;

type Options = Readonly<{
  now: () => Date;
  /** Told when admission begins to change an object, with the paths of the fields. */
  changed?: (path: string, fields: readonly string[]) => void;
}>;

type Answer = Readonly<{
  declared: string;
  live: string;
  until: number;
  fields: readonly string[];
}>;

export class Admitted {
  readonly #now: () => Date;
  readonly #changed: NonNullable<Options["changed"]>;
  readonly #answers = new Map<string, Answer>();

  constructor({ now, changed = () => {} }: Options) {
    this.#now = now;
    this.#changed = changed;
  }

  /** The API server said not long ago that `live` is what it makes of `declared`. */
  holds(path: string, declared: object, live: KubernetesObject): boolean {
    const answer = this.#answers.get(path);
    if (answer === undefined || answer.until <= this.#now().getTime()) return false;
    return answer.declared === digest(declared) && answer.live === digest(essence(live));
  }

  /** `live` is what the API server makes of `declared`. */
  keep(path: string, declared: object, live: KubernetesObject): void {
    const fields = differing(live, declared);
    if (fields.length > 0 && !this.#answers.has(path)) this.#changed(path, fields);
    const until = this.#now().getTime() + believedSeconds * 1000;
    this.#answers.set(path, {
      declared: digest(declared),
      live: digest(essence(live)),
      until,
      fields,
    });
  }

  /** The object is as declared. */
  forget(path: string): void {
    this.#answers.delete(path);
  }

  /** Paths of the objects that are not as declared, with those of their fields. */
  get differences(): readonly (readonly [path: string, fields: readonly string[]])[] {
    return [...this.#answers].flatMap(([path, { fields }]) =>
      fields.length > 0 ? [[path, fields] as const] : [],
    );
  }

  /** Seconds after which to ask again; undefined when nothing is changed by anybody. */
  get againSeconds(): number | undefined {
    return this.#answers.size > 0 ? believedSeconds : undefined;
  }
}

/** True when a write that makes `planned` of `live` would change nothing that matters. */
export function isSame(planned: KubernetesObject, live: KubernetesObject): boolean {
  return isDeepStrictEqual(essence(planned), essence(live));
}

type Essence = KubernetesObject & { metadata?: V1ObjectMeta; status?: unknown };

/** Without what changes by itself. */
function essence(object: Essence): object {
  const { status: _, metadata = {}, ...rest } = object;
  const { managedFields: __, resourceVersion: ___, generation: ____, ...others } = metadata;
  return { ...rest, metadata: others };
}

/** In memory only; a Secret's goes nowhere. */
const digest = (value: object) =>
  createHash("sha256").update(JSON.stringify(value)).digest("base64");
