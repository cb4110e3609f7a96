/** Whether something belongs to the one revision that this pod applies. Pure. */
import type { Facts } from "./facts.ts";
import type { Document } from "../delivery/mounted.ts";

type Named = Readonly<{ revision: number; digest?: string | undefined }>;

/**
 * Whether it is our revision's: by number and digest. A number may come back with other content,
 * when etcd is restored or the product installed anew over a node that kept its journal; a journal
 * without a digest is not believed.
 */
export function isOurs(one: Named, { revision, digest }: Facts["config"]): boolean {
  return one.revision === revision && one.digest === digest;
}

/** The mounted document, if it is our revision's. */
export function ours({ mounted, config }: Pick<Facts, "mounted" | "config">): Document | undefined {
  return mounted?.kind === "document" && isOurs(mounted, config) ? mounted : undefined;
}
