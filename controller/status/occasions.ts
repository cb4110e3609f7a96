/** The occasion of a verdict: the same words about another occasion are another Event. */
import type { V1ObjectMeta, V1Secret } from "@kubernetes/client-node";
import type { SourcesVerdict } from "../sources/accept.ts";
import { contains } from "#kube/apply/difference.ts";
import type { Snapshot } from "#controller/sources/snapshot.ts";

type SaidOnce = Readonly<Record<string, string>> | undefined;

export class Occasions {
  #edit: { said: SaidOnce; version: string } = { said: undefined, version: "" };
  #original = "";

  /**
   * The version in which the Secret got its present meaning: an edit of its labels or of white
   * space is no news. What is refused has no meaning to compare, and is told again when its bytes
   * change.
   */
  additional(secret: V1Secret | undefined, { wanted, problems }: SourcesVerdict): string {
    const refused = wanted === undefined || problems.additional.length > 0;
    const said = refused ? secret?.data : { document: wanted.document, sources: wanted.sources };
    if (said === undefined || this.#edit.said === undefined || !isSame(said, this.#edit.said))
      this.#edit = { said, version: versionOf(secret?.metadata) };
    return this.#edit.version;
  }

  /** Absence is told once per Secret that was there: one may come and go any number of times. */
  original(secret: Snapshot["original"]): string {
    if (typeof secret === "string") return `${secret} after ${this.#original}`;
    this.#original = versionOf(secret.metadata);
    return this.#original;
  }
}

const isSame = (a: unknown, b: unknown) => contains(a, b) && contains(b, a);

const versionOf = (metadata: V1ObjectMeta | undefined) => metadata?.resourceVersion ?? "";
