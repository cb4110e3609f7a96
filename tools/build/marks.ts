/**
 * What the runner of test files, their loader (load-files.ts) and the reporter agree on: the tests
 * by which the loader marks where the tests of a file end, and the descriptors beside the standard
 * ones.
 */
import { join } from "node:path";

export const loader: string = join(import.meta.dirname, "load-files.ts");

/** The reporter writes its lines here. */
export const channel = 3;
/** Open as long as the process lives that runs the files. */
export const lifeline = 4;

/** Environment variables for the loader: a JSON list of paths, and milliseconds for each file. */
export const filesVariable = "TEST_FILES";
export const loadBoundVariable = "TEST_LOAD_BOUND";

export const markOf = (file: string): string => `${file} loads`;

/** After the marks of all files. Each test after it was registered too late. */
export const lastMark = "all files have loaded";

/** The file that a mark is about. */
export const markedBy = (name: string): string => name.replace(/ loads$/, "");
