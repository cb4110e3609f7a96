/**
 * Chooses the address to which the host's controller will connect, and checks it by the
 * controller's rules. Pure.
 */
import { parseKubeconfig, systemRoots } from "#kube/kubeconfig/parse.ts";
import { problemAt } from "#kube/kubeconfig/problems.ts";
import { codedLine } from "../document/verdict.ts";
import { Misuse, type ServerAddress } from "../terminal/io.ts";

type Given = Readonly<{
  server: string | undefined;
  "tls-server-name": string | undefined;
  "system-roots": boolean;
}>;

/**
 * The address of the flag --server, or without this flag the context's address. Throws Misuse for
 * an address that the controller would refuse. Also throws Misuse if the context's address is an
 * address of this machine, as with kind, minikube and tunnels: in the controller's pod, this
 * address would lead to the pod itself. But we accept such an address from --server.
 */
export function addressFor(
  contextAddress: ServerAddress,
  flags: Given,
  context: string,
): ServerAddress {
  const { server = contextAddress.server, "tls-server-name": name } = flags;
  const source = `--context ${context}`;
  const isPinned = contextAddress["certificate-authority-data"] !== undefined;
  if (isPinned && flags["system-roots"])
    throw new Misuse("--system-roots: the context has a certificate authority; leave it out");
  if (!isPinned && !flags["system-roots"])
    throw new Misuse(
      `${source}: has no certificate authority; give it one (certificate-authority-data), or ` +
        "--system-roots if a public authority signs for the server",
    );
  const address = {
    ...contextAddress,
    server,
    ...(name === undefined ? {} : { "tls-server-name": name }),
    ...(isPinned ? {} : { extensions: [systemRoots] }),
  };
  const read = parseKubeconfig(configOf(address), source);
  if (!read.ok) throw new Misuse(read.problems.map(codedLine).join("\n"));
  if (flags.server === undefined && isLoopback(server))
    throw new Misuse(
      codedLine(problemAt("loopback", source, ["clusters", 0, "cluster", "server"])),
    );
  return address;
}

const configOf = (cluster: ServerAddress) => ({
  clusters: [{ name: "joined", cluster }],
  users: [{ name: "joined", user: { token: "none" } }],
  contexts: [{ name: "joined", context: { cluster: "joined", user: "joined" } }],
  "current-context": "joined",
});

/**
 * Whether this is an address of this machine. URL normalizes addresses: 127.1 becomes 127.0.0.1.
 */
function isLoopback(server: string): boolean {
  const { hostname } = new URL(server);
  return /^(?:127\.\d+\.\d+\.\d+$|0\.0\.0\.0$|\[::1?\]$|\[::ffff:7f|(?:.*\.)?localhost\.?$)/.test(
    hostname,
  );
}
