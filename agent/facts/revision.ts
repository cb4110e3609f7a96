/** What belongs to the one revision that this pod applies. Pure. */
import type { Facts } from "./facts.ts";
import type { Document } from "../delivery/mount.ts";

type Named = Readonly<{ revision: number; digest?: string | undefined }>;

/**
 * Whether it belongs to our revision, by number and digest. A number alone is not enough: it comes
 * back with other content when etcd is restored, or when the product is installed again and nodes
 * kept their journals. A journal without a digest does not count.
 */
export function isOurs(one: Named, { revision, digest }: Facts["config"]): boolean {
  return one.revision === revision && one.digest === digest;
}

/** The mounted document, if it is our revision's. */
export function ours({ mounted, config }: Pick<Facts, "mounted" | "config">): Document | undefined {
  return mounted?.kind === "document" && isOurs(mounted, config) ? mounted : undefined;
}
