/** The mounted Secret of a revision, as the controller writes it. */
import { digestOf, saltLength } from "#pullsecret/merge/digest.ts";
import { formerKey, type Intent, secretKeys, servedKeys } from "#contract/names.ts";

export type MountedSources = Readonly<{
  additional?: Readonly<Record<string, string>>;
  original?: Readonly<Record<string, string>>;
  /** The intent; by default `apply`, or `release` if there is no additional content. */
  intent?: Intent;
}>;

/**
 * The files of a revision in the mounted Secret. The salt is the revision's number, because most
 * tests have one content per number.
 */
export function filesFor(
  revision: number,
  { additional = {}, original = {}, intent }: MountedSources,
) {
  const entries = { ...original, ...additional };
  const auths = Object.fromEntries(
    Object.entries(entries).map(([key, password]) => [key, { auth: encode(password) }]),
  );
  const sources = Object.fromEntries(
    Object.keys(entries).map((key) => [key, key in additional ? "additional" : "original"]),
  );
  return {
    ".dockerconfigjson": JSON.stringify({ auths }),
    revision: String(revision),
    salt: String(revision).padStart(saltLength, "0"),
    intent: intent ?? (Object.keys(additional).length > 0 ? "apply" : "release"),
    sources: JSON.stringify(sources),
  } as const;
}

/**
 * The keys of the mounted Secret besides those of the newest content. Their values mean mode
 * Restart and no served content, therefore new nodes get nothing.
 */
export const beside: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.values(servedKeys).map((key) => [key, ""])),
  [servedKeys.revision]: "0",
  mode: "Restart",
  [formerKey]: "",
};

/** The keys of the served content. `same` means that the newest content is served. */
export function servedFilesFor(revision: number, content: MountedSources | "same") {
  const number = { [servedKeys.revision]: String(revision) };
  if (content === "same") return number;
  const files = filesFor(revision, content);
  const keys = Object.keys(servedKeys) as (keyof typeof servedKeys)[];
  return Object.fromEntries(keys.map((key) => [servedKeys[key], files[secretKeys[key]]]));
}

/** The digest for an order of this revision with this content. */
export function digestFor(revision: number, content: MountedSources): string {
  const { salt, intent, sources, ".dockerconfigjson": document } = filesFor(revision, content);
  const bytes = (text: string) => Buffer.from(text);
  return digestOf({
    salt: bytes(salt),
    intent,
    sources: bytes(sources),
    document: bytes(document),
  });
}

export function encode(password: string): string {
  return Buffer.from(`user:${password}`).toString("base64");
}
