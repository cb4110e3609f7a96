/** For tests: Nodes as the API server lists them. */
import type { V1Node, V1NodeSystemInfo } from "@kubernetes/client-node";

export type Reported = Readonly<{
  name?: string;
  labels?: Readonly<Record<string, string>>;
  version?: string;
  image?: string;
  os?: string;
  runtime?: string;
  allocatable?: Readonly<Record<string, string>>;
  providerID?: string;
  ready?: boolean;
}>;

const ordinary = { cpu: "4", "hugepages-2Mi": "2Mi" };

export function node(reported: Reported, name = "n"): V1Node {
  const {
    labels = {},
    version = "v1.34.0",
    image = "Debian",
    os = "linux",
    runtime = "",
    ready = true,
  } = reported;
  const nodeInfo: Partial<V1NodeSystemInfo> = {
    kubeletVersion: version,
    osImage: image,
    operatingSystem: os,
    containerRuntimeVersion: runtime,
  };
  return {
    metadata: { name: reported.name ?? name, labels },
    spec: { ...(reported.providerID && { providerID: reported.providerID }) },
    status: {
      allocatable: { ...ordinary, ...reported.allocatable },
      nodeInfo: nodeInfo as V1NodeSystemInfo,
      conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
    },
  };
}
