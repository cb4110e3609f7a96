/** Decides whether the Role and RoleBinding of a tenant's namespace are still needed. Pure. */

type Seen = Readonly<{
  /** SyncSecrets in the namespace; undefined where they could not be listed. */
  objects: number | undefined;
  /** Role and RoleBinding are both there. Either alone grants nothing. */
  whole: boolean;
  /** One of the two is being deleted. */
  leaving: boolean;
  /** The namespace is being deleted. */
  terminating: boolean;
}>;

/**
 * True while our finalizer belongs on the Role and the RoleBinding. When a namespace is deleted,
 * these two may go first, and then nobody could remove the finalizers of its SyncSecrets. Where
 * they are deleted and the namespace is not, somebody revokes the rights on purpose: they are not
 * held.
 */
export const isHeld = ({ objects, whole, leaving, terminating }: Seen): boolean =>
  whole && objects !== 0 && (!leaving || terminating);
