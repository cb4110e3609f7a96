/**
 * Differences between what we declared and what the API server made of it, because other people's
 * admission changed it. As long as neither side changes there is nothing to write. After a minute
 * the API server is asked again, so that a policy that was withdrawn is noticed.
 */
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { KubernetesObject, V1ObjectMeta } from "@kubernetes/client-node";
import { differing } from "./difference.ts";

/** Seconds for which an answer is believed. Asking is one dry run: 10 ms of the API server. */
export const believedSeconds = 60;

type Options = Readonly<{
  now: () => Date;
  /** Called when admission begins to change an object, with the paths of the fields. */
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

  /** True when the API server said lately that `live` is what it makes of `declared`. */
  holds(path: string, declared: object, live: KubernetesObject): boolean {
    const answer = this.#answers.get(path);
    if (answer === undefined || answer.until <= this.#now().getTime()) return false;
    return answer.declared === digest(declared) && answer.live === digest(essence(live));
  }

  /** Remembers that `live` is what the API server makes of `declared`. */
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

  /** Forgets an object that is as declared. */
  forget(path: string): void {
    this.#answers.delete(path);
  }

  /** Paths of the objects that are not as declared, with the paths of the fields that differ. */
  get differences(): readonly (readonly [path: string, fields: readonly string[]])[] {
    return [...this.#answers].flatMap(([path, { fields }]) =>
      fields.length > 0 ? [[path, fields] as const] : [],
    );
  }

  /**
   * Seconds until the API server is to be asked again; undefined when admission changes nothing.
   */
  get againSeconds(): number | undefined {
    return this.#answers.size > 0 ? believedSeconds : undefined;
  }
}

/** True when a write that makes `planned` of `live` would change nothing that matters. */
export function isSame(planned: KubernetesObject, live: KubernetesObject): boolean {
  return isDeepStrictEqual(essence(planned), essence(live));
}

type Essence = KubernetesObject & { metadata?: V1ObjectMeta; status?: unknown };

/** The object without the fields that change by themselves. */
function essence(object: Essence): object {
  const { status: _, metadata = {}, ...rest } = object;
  const { managedFields: __, resourceVersion: ___, generation: ____, ...others } = metadata;
  return { ...rest, metadata: others };
}

/** Kept in memory only; the digest of a Secret goes nowhere. */
const digest = (value: object) =>
  createHash("sha256").update(JSON.stringify(value)).digest("base64");
