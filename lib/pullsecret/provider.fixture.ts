/** The kubelet's credential provider as an administrator installs it: configuration and script. */
import { providerName, type ProviderScope } from "#contract/names.ts";
import { annotated, configVersion, providerVersion } from "./provider.ts";
import { hostOf, identity } from "./registry/registry.ts";

/**
 * The kubelet compares host names label by label. Eight labels cover every registry seen so far.
 */
const labels = 8;
const everyHost = Array.from({ length: labels }, (_, more) => ["*", ...stars(more)].join("."));

function stars(count: number): string[] {
  return Array.from({ length: count }, () => "*");
}

/**
 * The rows of `matchImages` that cover these registries. Shared rows cover every host without a
 * port. Each `host:port` needs a separate row, because the kubelet compares ports as texts.
 */
export function rowsFor(registries: Iterable<string>): string[] {
  const hosts = [...registries].map((key) => hostOf(identity(key) ?? ""));
  const ported = hosts.filter((host) => /^[^[].*:\d+$/.test(host));
  return [...everyHost, ...[...new Set(ported)].toSorted()];
}

/**
 * The whole file, ending in a newline. The cache duration of 0s makes the kubelet run the script
 * for each lookup, so a new answer serves the next pull.
 */
export function providerConfig(registries: Iterable<string>, scope: ProviderScope): string {
  const provider = {
    name: providerName,
    apiVersion: providerVersion,
    matchImages: rowsFor(registries),
    defaultCacheDuration: "0s",
    ...(scope === "Annotated" && { tokenAttributes: annotated }),
  };
  const config = {
    apiVersion: configVersion,
    kind: "CredentialProviderConfig",
    providers: [provider],
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}

/**
 * A script of two lines that any shell understands. The stamp is only for the agent, and must not
 * make a pull fail. If the stamp cannot be created (a full disk), the script still prints the
 * answer. The script's paths are relative, because the kubelet's directory differs between hosts.
 */
export const script = `#!/bin/sh
true 2>/dev/null >"\${0%/*}/../stamp"; exec cat "\${0%/*}/../answer.json"
`;
