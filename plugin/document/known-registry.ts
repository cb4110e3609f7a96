/** The operand REGISTRY of `remove`, for which completion offers the registries in the Secret. */

/** Accepts a registry in any spelling, because the Secret might contain this spelling. */
export const knownRegistry = (value: string): string => value;
