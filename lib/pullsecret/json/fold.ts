/** How Go's encoding/json compares field names: `AUTHS` is read as `auths`, wherever Go reads. */

/**
 * The lower-case form of a name, with U+017F for s and U+212A for k: two names with the same form
 * are one field.
 */
export function fold(name: string): string {
  return name.replaceAll("\u017f", "s").replaceAll("\u212a", "k").toLowerCase();
}
