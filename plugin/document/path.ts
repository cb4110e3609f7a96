/** A flag whose value is a file. */
import { Wrong } from "#contract/values.ts";

/** A file's name, or `-` for standard input. */
export function path(text: string): string | Wrong {
  return text === "" ? new Wrong("is empty; give a file, or - for standard input") : text;
}
