/** A node that an installer has prepared for our credential provider. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { providerFiles, type ProviderScope } from "#contract/names.ts";
import { script, providerConfig } from "#pullsecret/provider.fixture.ts";
import { answerOf } from "#pullsecret/provider.ts";

const { script: program, config, answer, stamp } = providerFiles;

/** The files below the kubelet's directory, path → content and mode. */
const laid = (registries: readonly string[], scope: ProviderScope) =>
  [
    [program, script, 0o700],
    [config, providerConfig(registries, scope), 0o600],
    [answer, answerOf(new Map()), 0o600],
  ] as const;

/** Writes the script, its configuration and an empty answer, but not the kubelet's flags. */
export function installProvider(
  kubeletDirectory: string,
  registries: readonly string[] = [],
  scope: ProviderScope = "All",
): void {
  for (const [name, content, mode] of laid(registries, scope)) {
    const path = join(kubeletDirectory, name);
    mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
    writeFileSync(path, content, { mode });
  }
}

/** The passwords in the provider's answer, by registry. Undefined if there is no answer. */
export function answeredPasswords(kubeletDirectory: string): Record<string, string> | undefined {
  const path = join(kubeletDirectory, answer);
  if (!existsSync(path)) return undefined;
  const { auth } = JSON.parse(readFileSync(path, "utf8")) as {
    auth: Record<string, { password: string }>;
  };
  return Object.fromEntries(Object.entries(auth).map(([key, { password }]) => [key, password]));
}

/** Creates the stamp, the file that the script writes each time the kubelet runs the script. */
export function hasAsked(kubeletDirectory: string): void {
  writeFileSync(join(kubeletDirectory, stamp), "");
}

/** kubeadm's file below the kubelet's directory, which also contains the provider's files. */
export const kubeadmFile = "kubeadm-flags.env";

/** The kubelet's flags. `from`: the configuration's file or its directory. */
const flagsFor = (from: string) => [
  `--image-credential-provider-bin-dir=/var/lib/kubelet/${providerFiles.bin}`,
  `--image-credential-provider-config=/var/lib/kubelet/${from}`,
];

/** The kubelet's flags in the form of kubeadm's file. */
export function kubeadmFlags(from: string = providerFiles.configs): string {
  return `KUBELET_KUBEADM_ARGS="${flagsFor(from).join(" ")}"\n`;
}

/** Returns true if a command line, or a file of arguments, names the file of our configuration. */
export function namesProvider(text: string): boolean {
  const words = text.split(/[\s"]+/);
  return flagsFor(config).every((flag) => words.includes(flag));
}
