/**
 * The API server's configuration from docs/extend/tenants.md, which keeps content out of etcd and
 * the audit log.
 */
import { randomBytes } from "node:crypto";
import type { ClusterOptions } from "../cluster/cluster.ts";
import { pageOf } from "../page.ts";

const { yamlOf } = pageOf("extend/tenants.md");

export function sealedOptions(): ClusterOptions {
  const encryption = JSON.stringify(yamlOf("encryption.yaml"));
  const key = randomBytes(32).toString("base64");
  return {
    apiServer: {
      encryption: JSON.parse(encryption.replace('"secret":null', `"secret":"${key}"`)) as object,
      audit: {
        apiVersion: "audit.k8s.io/v1",
        kind: "Policy",
        omitStages: ["RequestReceived"],
        rules: [yamlOf("audit.yaml"), { level: "RequestResponse" }],
      },
    },
  };
}
