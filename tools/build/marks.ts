/**
 * The contract between the runner of test files, their loader (load-files.ts) and the reporter. The
 * loader registers a special test, the mark, after the tests of each file. The processes share two
 * descriptors in addition to the standard ones.
 */
import { join } from "node:path";

export const loader: string = join(import.meta.dirname, "load-files.ts");

/** The reporter writes its lines here. */
export const channel = 3;
/** This descriptor is open until the runner's process ends, so that the loader notices this end. */
export const lifeline = 4;

/**
 * Environment variables for the loader: a JSON list of paths, and the milliseconds for loading a
 * file.
 */
export const filesVariable = "TEST_FILES";
export const loadBoundVariable = "TEST_LOAD_BOUND";

export const markOf = (file: string): string => `${file} loads`;

/**
 * The last mark, after the marks of all files. A test that Node reports later was registered too
 * late.
 */
export const lastMark = "all files have loaded";

/** The file that belongs to a mark. */
export const markedBy = (name: string): string => name.replace(/ loads$/, "");
