/** The shape of a catalogue of what is said to people. */

/**
 * Kind → code, meaning, what to do or what happens next. A code is never used again for
 * something else; `{}` stands for a detail, which is never a credential.
 */
export type Catalogue = Readonly<
  Record<string, readonly [code: string, what: string, then: string]>
>;
