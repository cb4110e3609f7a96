/** A node whose kubelet has a credential provider of ours, as an installer lays it. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { providerFiles, type ProviderScope } from "#contract/names.ts";
import { answerOf, script } from "#pullsecret/provider/answer.ts";
import { providerConfig } from "#pullsecret/provider/config.ts";

const { script: program, config, answer, stamp } = providerFiles;

/** What is below the kubelet's directory, path → content and mode. */
const laid = (registries: readonly string[], scope: ProviderScope) =>
  [
    [program, script, 0o700],
    [config, providerConfig(registries, scope), 0o600],
    [answer, answerOf(new Map()), 0o600],
  ] as const;

/** Lays the script, its configuration and an empty answer; not the kubelet's flags. */
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

/** The passwords of the answer, by registry; undefined where there is none. */
export function answered(kubeletDirectory: string): Record<string, string> | undefined {
  const path = join(kubeletDirectory, answer);
  if (!existsSync(path)) return undefined;
  const { auth } = JSON.parse(readFileSync(path, "utf8")) as {
    auth: Record<string, { password: string }>;
  };
  return Object.fromEntries(Object.entries(auth).map(([key, { password }]) => [key, password]));
}

/** As the script leaves it each time that the kubelet runs it. */
export function hasAsked(kubeletDirectory: string): void {
  writeFileSync(join(kubeletDirectory, stamp), "");
}

/** The kubelet's flags as kubeadm's file has them. `root`: the kubelet's directory on its node. */
export function kubeadmFlags(root = "/var/lib/kubelet"): string {
  const flags = [
    `--image-credential-provider-config=${root}/${providerFiles.configs}`,
    `--image-credential-provider-bin-dir=${root}/${providerFiles.bin}`,
  ];
  return `KUBELET_KUBEADM_ARGS="${flags.join(" ")}"\n`;
}
