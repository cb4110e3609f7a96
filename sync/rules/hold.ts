/** Whether the rights of a tenant's namespace are still needed there. Pure. */

type Seen = Readonly<{
  /** SyncSecrets in the namespace; undefined where they could not be listed. */
  objects: number | undefined;
  /** The Role and the RoleBinding are both there. Either of them alone grants nothing. */
  whole: boolean;
  /** One of the two is being deleted. */
  leaving: boolean;
  /** The whole namespace is. */
  terminating: boolean;
}>;

/**
 * True while our finalizer belongs on the Role and the RoleBinding. A namespace that goes takes
 * them first, and what is left of SyncSecrets could then never be released. Rights that are taken
 * away alone are taken away on purpose: they are not held.
 */
export const isHeld = ({ objects, whole, leaving, terminating }: Seen): boolean =>
  whole && objects !== 0 && (!leaving || terminating);
