/** Of package.json; written by npm run docs. */
export const version = "0.2.0";
