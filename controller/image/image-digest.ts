/** Which digest of an image may stand in for its tag. Pure. */
import { repositoryOf } from "#pullsecret/registry/image.ts";

/**
 * The image by the digest that this pod runs, so that a tag which is moved meanwhile cannot give
 * nodes an agent that the controller does not know. It stays as it is written wherever another node
 * might not be able to pull that digest (docs/inside/decisions/image-digest.md):
 *
 * - it is written by digest already;
 * - the runtime reports the image's own id, which no registry knows, or a digest of another
 *   repository, as for images that were loaded by hand;
 * - the runtime is not containerd. Only containerd is known to report the digest that was pulled,
 *   which is that of all platforms together; CRI-O may report that of one.
 */
export function byDigest(written: string, imageID: string, runtime: string): string {
  const [, pulled = "", digest] = /^([^@]+)@(sha256:[a-f0-9]{64})$/.exec(imageID) ?? [];
  const repository = repositoryOf(written);
  const same = repository !== undefined && repository === repositoryOf(pulled);
  if (
    digest === undefined ||
    !same ||
    written.includes("@") ||
    !runtime.startsWith("containerd://")
  )
    return written;
  // The name as the Deployment spells it, without the tag: not every runtime takes both.
  return `${written.replace(/:[^:/]*$/, "")}@${digest}`;
}
