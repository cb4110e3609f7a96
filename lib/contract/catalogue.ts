/** The shape of a catalogue of errors and messages. */

/**
 * Kind → code, meaning, what to do or what happens next. A code is never reused for another
 * meaning. `{}` stands for a detail, which is never a credential.
 */
export type Catalogue = Readonly<
  Record<string, readonly [code: string, what: string, then: string]>
>;
