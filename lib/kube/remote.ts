/** A cluster whose kubeconfig other people wrote. */
import { isUtf8 } from "node:buffer";
import { KubeConfig, loadYaml } from "@kubernetes/client-node";
import type { Access } from "./kubeconfig/access.ts";
import { parseKubeconfig, type KubeconfigRead } from "./kubeconfig/parse.ts";
import { problemAt } from "./kubeconfig/problems.ts";

/**
 * Maximum number of bytes of a kubeconfig: four times what a kubeconfig with a chain of
 * certificates needs.
 */
const longest = 256 * 1024;

/**
 * Reads a kubeconfig as data, in YAML or JSON; uses its current context. Never throws, and no
 * problem quotes a value.
 */
export function readKubeconfig(bytes: Uint8Array, source: string): KubeconfigRead {
  const refused = (kind: "tooBig" | "notYaml") => ({
    ok: false as const,
    problems: [problemAt(kind, source, [])],
  });
  if (bytes.length > longest) return refused("tooBig");
  if (!isUtf8(bytes)) return refused("notYaml");
  let value: unknown;
  try {
    value = loadYaml<unknown>(Buffer.from(bytes).toString("utf8"));
  } catch {
    return refused("notYaml"); // the reader's message quotes the text
  }
  return parseKubeconfig(value, source);
}

/** A kubeconfig for `connect`: one cluster, one user, one context, made from data only. */
export function kubeConfigOf({ server, authority, serverName, proof }: Access): KubeConfig {
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    {
      name: "remote",
      server,
      ...(authority === undefined ? {} : { caData: authority }),
      skipTLSVerify: false,
      ...(serverName === undefined ? {} : { tlsServerName: serverName }),
    },
    {
      name: "remote",
      ...(proof.token === undefined ? {} : { token: proof.token }),
      ...(proof.certificate === undefined ? {} : { certData: proof.certificate }),
      ...(proof.key === undefined ? {} : { keyData: proof.key }),
    },
  );
  return config;
}
