/**
 * Builds our image from the Containerfile, for the release and, on another base, for tests.
 *
 * The same files result in the same digest on every machine with the same buildah. buildah sets all
 * times to `created`, the Containerfile sets the files' modes, and root owns all files.
 */
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { run } from "#test/cluster/run.ts";
import { Unready } from "./ready.ts";

export type ImageOptions = Readonly<{
  /** Folder of the Containerfile, with the bundles in its dist/. */
  context: string;
  /** The folder for the result: an OCI layout whose index.json names one image index. */
  layout: string;
  /** The names of the architectures in OCI, such as `amd64`. */
  architectures: readonly string[];
  /** The OCI layout of the base. If absent, buildah pulls the base that the Containerfile pins. */
  base?: string | undefined;
  /** Seconds since 1970. */
  created: number;
  labels: Readonly<Record<string, string>>;
}>;

/** The reference of the base that the Containerfile pins. */
export function pinnedBase(context: string): string {
  const text = readFileSync(join(context, "Containerfile"), "utf8");
  const base = /^ARG BASE=(\S+@sha256:[0-9a-f]{64})$/m.exec(text)?.[1];
  if (base === undefined) throw new Error("Containerfile: pins no BASE by its digest");
  return base;
}

/** The bundles and licences that the Containerfile copies, as paths from its folder. */
export function bundlesOf(context: string): string[] {
  const text = readFileSync(join(context, "Containerfile"), "utf8");
  return text.match(/(?<=\s)dist\/[\w.-]+(?=\s)/g) ?? [];
}

/**
 * Builds the image for every architecture, 4 s each. No instruction runs a program, therefore the
 * machine needs no emulation. buildah uses a temporary storage beside the result, so that the
 * machine's own images do not change.
 */
export async function buildLayout(options: ImageOptions): Promise<void> {
  const { context, layout, architectures, created, labels } = options;
  const storage = `${layout}.storage`;
  const buildah = (args: readonly string[], cwd = context): Promise<string> =>
    run(["buildah", "--root", join(storage, "root"), "--runroot", join(storage, "run"), ...args], {
      cwd,
    });
  const { base } = options;
  const pull = async (platform: string): Promise<string> => {
    const args = ["pull", "--quiet", platform];
    // A relative path, because buildah names the image after the path, and refuses dots and
    // capitals.
    if (base !== undefined) return await buildah([...args, `oci:${basename(base)}`], dirname(base));
    const pinned = pinnedBase(context);
    return await buildah([...args, pinned]).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message.split("Error: ").at(-1) : error;
      throw new Unready(`${pinned}: cannot be pulled; give --base LAYOUT: ${reason}`);
    });
  };
  rmSync(storage, { recursive: true, force: true });
  mkdirSync(storage, { recursive: true });
  try {
    for (const architecture of architectures) {
      const platform = `--platform=linux/${architecture}`;
      await buildah([
        "build",
        "--isolation=chroot",
        "--quiet",
        platform,
        `--build-arg=BASE=${(await pull(platform)).trim()}`,

        `--timestamp=${created}`,
        "--identity-label=false", // omits buildah's version
        ...Object.entries(labels).map(([name, value]) => `--label=${name}=${value}`),
        "--manifest=product",
        "--file=Containerfile",
        ".",
      ]);
    }
    await buildah(["manifest", "push", "--quiet", "--all", "product", `oci:${layout}`]);
  } finally {
    rmSync(storage, { recursive: true, force: true });
  }
}
