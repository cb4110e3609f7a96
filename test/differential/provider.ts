/** Runs the kubelet's own code with a node's credential providers. See provider/main.go. */
import { Buffer } from "node:buffer";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { temporary } from "#test/temporary.ts";
import { providerFiles } from "#contract/names.ts";
import { script } from "#pullsecret/provider.fixture.ts";
import { build, held, run, type Held } from "./oracle.ts";

/**
 * Writes the files of our credential provider on a node. Returns the path of the directory with
 * these files.
 */
export function lay(t: TestContext, config: string, answer?: Buffer): string {
  const root = temporary(t);
  const put = (name: string, bytes: string | Buffer, mode: number) => {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), bytes, { mode });
  };
  put(providerFiles.script, script, 0o700);
  put(providerFiles.config, config, 0o600);
  if (answer !== undefined) put(providerFiles.answer, answer, 0o600);
  return root;
}

type Options = Readonly<{
  /**
   * The path in the kubelet's flag: the configuration's file, as agents set the flag, or its
   * directory, as installers can set it.
   */
  config?: string;
  /** The number of simultaneous look-ups for each image. */
  atOnce?: number;
}>;

export type Registered = Readonly<{
  /** The hash of the configuration in the kubelet's metric. */
  hash: string;
  lookups: readonly Readonly<{ tries: Held[]; logged: string }>[];
}>;

/**
 * Registers the providers as a starting kubelet does, and looks images up. Rejects if a kubelet
 * would not start with this configuration.
 */
export async function register(
  root: string,
  images: readonly string[],
  { config = providerFiles.configs, atOnce = 1 }: Options = {},
): Promise<Registered> {
  const oracle = await build("provider");
  const argv = [join(root, config), join(root, providerFiles.bin), String(atOnce), ...images];
  const [hash, ...lookups] = (await run(oracle, argv, "")).trimEnd().split("\n");
  type Raw = { tries: { username: string; password: string }[]; logged: string };
  const bytes = (text: string) => Buffer.from(text, "base64");
  return {
    hash: JSON.parse(hash ?? "") as string,
    lookups: lookups.map((line) => {
      const { tries, logged } = JSON.parse(line) as Raw;
      return {
        tries: tries.map((credential) =>
          held(bytes(credential.username), bytes(credential.password)),
        ),
        logged,
      };
    }),
  };
}

/** Returns the credentials that the kubelet tries for each image, in order. */
export async function lookUp(
  root: string,
  images: readonly string[],
  config?: string,
): Promise<Held[][]> {
  const { lookups } = await register(root, images, config === undefined ? {} : { config });
  return lookups.map(({ tries }) => tries);
}
