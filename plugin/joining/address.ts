/**
 * The address to which the host's controller connects, judged by the controller's own rules. Pure.
 */
import { authorityExtension } from "#contract/names.ts";
import { parseKubeconfig } from "#kube/kubeconfig/parse.ts";
import { problemAt } from "#kube/kubeconfig/problems.ts";
import { formatProblem, type Problem } from "#pullsecret/problems/problems.ts";
import { Misuse, type ServerAddress } from "../terminal/io.ts";

type Given = Readonly<{
  server: string | undefined;
  "tls-server-name": string | undefined;
  "system-roots": boolean;
}>;

/**
 * The address of the context, or the given address instead. Throws Misuse for an address that the
 * controller would refuse, and for an address of this machine. kind, minikube and tunnels write
 * local addresses, and in a pod of the host such an address leads to the pod itself. If a flag
 * gives an address of this machine, we accept it.
 */
export function addressFor(found: ServerAddress, given: Given, context: string): ServerAddress {
  const { server = found.server, "tls-server-name": name = found["tls-server-name"] } = given;
  const source = `--context ${context}`;
  const isPinned = found["certificate-authority-data"] !== undefined;
  if (isPinned && given["system-roots"])
    throw new Misuse("--system-roots: the context has a certificate authority; leave it out");
  if (!isPinned && !given["system-roots"])
    throw new Misuse(
      `${source}: has no certificate authority; give it one (certificate-authority-data), or ` +
        "--system-roots if a public authority signs for the server",
    );
  const address = {
    ...found,
    server,
    ...(name === undefined ? {} : { "tls-server-name": name }),
    ...(isPinned ? {} : { extensions: [systemRoots] }),
  };
  const read = parseKubeconfig(configOf(address), source);
  if (!read.ok) throw new Misuse(read.problems.map(lineOf).join("\n"));
  if (given.server === undefined && isLoopback(server))
    throw new Misuse(lineOf(problemAt("loopback", source, ["clusters", 0, "cluster", "server"])));
  return address;
}

const systemRoots = { name: authorityExtension, extension: { roots: "system" } };

const lineOf = (one: Problem): string => `${one.code} ${formatProblem(one)}`;

const configOf = (cluster: ServerAddress) => ({
  clusters: [{ name: "joined", cluster }],
  users: [{ name: "joined", user: { token: "none" } }],
  contexts: [{ name: "joined", context: { cluster: "joined", user: "joined" } }],
  "current-context": "joined",
});

/** URL has normalized the address: 127.1 has become 127.0.0.1. */
function isLoopback(server: string): boolean {
  const { hostname } = new URL(server);
  return /^(?:127\.\d+\.\d+\.\d+$|0\.0\.0\.0$|\[::1?\]$|\[::ffff:7f|(?:.*\.)?localhost\.?$)/.test(
    hostname,
  );
}
