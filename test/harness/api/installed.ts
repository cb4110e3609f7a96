/** Fake API server: what the installer puts into a cluster. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { FakeApi } from "./api.ts";

const crds = join(import.meta.dirname, "../../../manifests/chart/crds");
const admission = "admissionregistration.k8s.io/v1";
const metadata = { name: "global-pull-secret-nodes" };

/**
 * Serves the custom resources of controller and agents, and creates the admission policy without
 * which the controller asks nothing of the nodes. The fake API server does not enforce the policy.
 */
export function install(api: FakeApi): void {
  for (const name of ["globalpullsecrets", "nodepullsecrets"])
    api.store.define(readFileSync(join(crds, `${name}.yaml`), "utf8"));
  const spec = { policyName: metadata.name, validationActions: ["Deny"] };
  create(api, "validatingadmissionpolicies", {
    metadata,
    spec: { failurePolicy: "Fail", validations: [{ expression: "true" }] },
  });
  create(api, "validatingadmissionpolicybindings", { metadata, spec });
}

function create(api: FakeApi, plural: string, body: object): void {
  api.answer({
    method: "POST",
    path: `/apis/${admission}/${plural}`,
    body,
    userAgent: "installer",
  });
}
