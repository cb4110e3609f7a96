/**
 * The differences that other people's admission policies and webhooks cause between our declaration
 * and the stored object. While the declaration and the object stay the same, there is nothing to
 * write. After a minute we ask the API server again, so we notice a withdrawn policy.
 */
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { KubernetesObject, V1ObjectMeta } from "@kubernetes/client-node";
import { differing } from "./difference.ts";

/** Seconds for which we trust the answer to a dry run. A dry run costs the API server 10 ms. */
const believedSeconds = 60;

type Answer = Readonly<{
  declared: string;
  live: string;
  until: number;
  fields: readonly string[];
}>;

export class Admitted {
  readonly #now: () => Date;
  readonly #answers = new Map<string, Answer>();

  constructor(now: () => Date) {
    this.#now = now;
  }

  /** True if the API server recently answered that it turns `declared` into `live`. */
  holds(path: string, declared: object, live: KubernetesObject): boolean {
    const answer = this.#answers.get(path);
    if (answer === undefined || answer.until <= this.#now().getTime()) return false;
    return answer.declared === digest(declared) && answer.live === digest(essence(live));
  }

  /** Remembers that the API server turns `declared` into `live`. */
  keep(path: string, declared: object, live: KubernetesObject): void {
    const fields = differing(live, declared);
    const until = this.#now().getTime() + believedSeconds * 1000;
    this.#answers.set(path, {
      declared: digest(declared),
      live: digest(essence(live)),
      until,
      fields,
    });
  }

  /** Deletes what we remembered about an object that is now as declared. */
  forget(path: string): void {
    this.#answers.delete(path);
  }

  /** Paths of the objects that are not as declared, with the paths of the fields that differ. */
  get differences(): readonly (readonly [path: string, fields: readonly string[]])[] {
    return [...this.#answers].flatMap(([path, { fields }]) =>
      fields.length > 0 ? [[path, fields] as const] : [],
    );
  }

  /** Seconds until the API server must be asked again; undefined if admission changes nothing. */
  get againSeconds(): number | undefined {
    return this.#answers.size > 0 ? believedSeconds : undefined;
  }
}

/** True if a write that turns `live` into `planned` would change nothing that matters. */
export function isSame(planned: KubernetesObject, live: KubernetesObject): boolean {
  return isDeepStrictEqual(essence(planned), essence(live));
}

type Essence = KubernetesObject & { metadata?: V1ObjectMeta; status?: unknown };

/** The object without status and without the fields that only the API server sets. */
function essence(object: Essence): object {
  const { status: _, metadata = {}, ...rest } = object;
  const { managedFields: __, resourceVersion: ___, generation: ____, ...others } = metadata;
  return { ...rest, metadata: others };
}

/** We keep the digest in memory only, because the digest of a Secret must not leave the process. */
const digest = (value: object) =>
  createHash("sha256").update(JSON.stringify(value)).digest("base64");
