/** The operand that completion offers the registries of the Secret for. */

/** Reads a registry in any spelling: the Secret may have it as it is. */
export const knownRegistry = (value: string): string => value;
