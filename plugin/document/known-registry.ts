/** The operand for which completion offers the registries of the Secret. */

/** Accepts a registry in any spelling, because the Secret may contain that spelling. */
export const knownRegistry = (value: string): string => value;
