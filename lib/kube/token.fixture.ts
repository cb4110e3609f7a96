/** Tokens of accounts, as an API server issues them. Nobody has signed them. */

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A token with these times, in milliseconds. */
export const tokenFrom = (issued: number, expires: number): string =>
  `${encoded({ alg: "x" })}.${encoded({ iat: issued / 1000, exp: expires / 1000 })}.s`;
