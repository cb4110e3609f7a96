/** One credential: how the `auth` field is decoded, and how it is written again. */
import { Buffer } from "node:buffer";

const redacted = "[redacted]";

/**
 * A user name and a password that no logger can print: the values are in private fields, and JSON,
 * string conversion and util.inspect all return `[redacted]`.
 */
export class Credential {
  /** The credential of an original's entry that has only an identity token. */
  static ofToken(identitytoken: string): Credential {
    const credential = new Credential("", "");
    credential.#token = identitytoken;
    return credential;
  }

  readonly #username: string;
  readonly #password: string;
  #encoded: string | undefined;
  #token: string | undefined;

  /** `encoded`: the result of encode(), if it is known already. */
  constructor(username: string, password: string, encoded?: string) {
    this.#username = username;
    this.#password = password;
    this.#encoded = encoded;
  }

  get username(): string {
    return this.#username;
  }

  get password(): string {
    return this.#password;
  }

  /** The `auth` field: padded base64 of `user:password`, the only form that CRI-O reads. */
  encode(): string {
    this.#encoded ??= Buffer.from(`${this.#username}:${this.#password}`, "utf8").toString("base64");
    return this.#encoded;
  }

  /**
   * The member of `auths` as we write it. Without user and password, the member has no `auth`. For
   * the kubelet this makes no difference, but CRI-O, which reads identity tokens, must not find a
   * user.
   */
  entry(): Readonly<{ auth?: string; identitytoken?: string }> {
    if (this.#token !== undefined) return { identitytoken: this.#token };
    return this.#username === "" && this.#password === "" ? {} : { auth: this.encode() };
  }

  equals(other: Credential): boolean {
    const samePair = this.#username === other.#username && this.#password === other.#password;
    return samePair && this.#token === other.#token;
  }

  toJSON(): string {
    return redacted;
  }

  toString(): string {
    return redacted;
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return redacted;
  }
}

const alphabet = /^[A-Za-z0-9+/]*$/;
const colon = 0x3a;

/**
 * The two parts as bytes, because base64 can hold bytes that are not text; `encoded` is the only
 * spelling that we write.
 */
export type Decoded = Readonly<{ username: Buffer; password: Buffer; encoded: string }>;

/**
 * Decodes an `auth` field as the kubelet does: standard alphabet; no padding or complete padding;
 * CR and LF are skipped; non-zero trailing bits are ignored; the text is split at the first colon.
 * Each part can be empty.
 */
export function decodeAuth(field: string): Decoded | "not base64" | "no colon" {
  const bytes = Buffer.from(field, "base64");
  const encoded = bytes.toString("base64");
  // Buffer decodes any text. If encoding the result gives the same text, the field was valid.
  // Nearly every field is valid.
  if (encoded !== field) {
    const text = field.replace(/[\r\n]/g, "");
    const digits = text.replace(/={1,2}$/, "");
    const whole = digits.length < text.length ? text.length % 4 === 0 : digits.length % 4 !== 1;
    if (!whole || !alphabet.test(digits)) return "not base64";
  }
  const at = bytes.indexOf(colon);
  if (at < 0) return "no colon";
  return { username: bytes.subarray(0, at), password: bytes.subarray(at + 1), encoded };
}
