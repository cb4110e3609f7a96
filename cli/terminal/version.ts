/** Of package.json; written by node build/run.mjs tools/docs.ts. */
export const version = "0.2.0";
