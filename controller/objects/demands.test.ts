import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubernetesObject, V1DaemonSet } from "@kubernetes/client-node";
import { agent } from "./agent.fixture.ts";
import { daemonSet, roleBinding } from "./daemonset.ts";
import { AdmissionError, demand } from "#kube/apply/demands.ts";
import { owned } from "#kube/client/paths.ts";
import { globalSecret } from "./global-secret.ts";

const set = () => daemonSet(agent);

type Edit = (made: V1DaemonSet) => void;
const pod = ({ spec }: V1DaemonSet) => spec?.template.spec ?? assert.fail();
const projected = (made: V1DaemonSet) =>
  pod(made).volumes?.find(({ name }) => name === "global-pull-secret")?.projected?.sources ??
  assert.fail();
const first = (made: V1DaemonSet) => pod(made).containers[0] ?? assert.fail();

const tolerated: readonly (readonly [sentence: string, edit: Edit])[] = [
  ["another image", (made) => (first(made).image = "informer.example/agent:1")],
  [
    "an additional variable",
    (made) => first(made).env?.unshift({ name: "HTTPS_PROXY", value: "http://p" }),
  ],
  [
    "an additional mount and its volume",
    (made) => {
      first(made).volumeMounts?.push({ name: "ca", mountPath: "/ca" });
      pod(made).volumes?.unshift({ name: "ca", emptyDir: {} });
    },
  ],
  ["a container beside the agent", (made) => pod(made).containers.unshift({ name: "proxy" })],
  ["other tolerations", (made) => (pod(made).tolerations = [])],
  [
    "additional labels and annotations",
    (made) => {
      Object.assign(made.metadata ?? {}, { labels: { team: "x" } });
      Object.assign(made.spec?.template.metadata?.annotations ?? {}, { cost: "shared" });
    },
  ],
  ["other resources", (made) => (first(made).resources = {})],
];
for (const [sentence, edit] of tolerated) {
  test(`allows admission to give the agents ${sentence}`, () => {
    const made = structuredClone(set());
    edit(made);
    demand(owned.daemonSet, set(), made);
  });
}

const annotationsOf = (made: V1DaemonSet) => made.spec?.template.metadata?.annotations ?? {};
const refused: readonly (readonly [sentence: string, edit: Edit, field: string])[] = [
  [
    "remove the digest from the template",
    (made) => void delete annotationsOf(made)["globalpullsecret.io/template"],
    "template",
  ],
  [
    "change the mode in the template",
    (made) => (annotationsOf(made)["globalpullsecret.io/mode"] = "Reread"),
    "mode",
  ],
  [
    "let the DaemonSet controller replace pods",
    (made) => Object.assign(made.spec?.updateStrategy ?? {}, { type: "RollingUpdate" }),
    "updateStrategy.type",
  ],
  [
    "shorten the probation",
    (made) => Object.assign(made.spec ?? {}, { minReadySeconds: 0 }),
    "minReadySeconds",
  ],
  ["give the agent another command", (made) => (first(made).command = ["sh"]), "command"],
  [
    "set another node for the agent",
    (made) => (first(made).env = [{ name: "NODE_NAME", value: "other" }]),
    "env[NODE_NAME]",
  ],
  ["remove the probe", (made) => void delete first(made).readinessProbe, "readinessProbe"],
  [
    "mount another Secret",
    (made) => Object.assign(projected(made)[0]?.secret ?? assert.fail(), { name: "x" }),
    "volumes[global-pull-secret]",
  ],
  [
    "remove the grant from the volume",
    (made) => void projected(made).pop(),
    "volumes[global-pull-secret]",
  ],
];
for (const [sentence, edit, field] of refused) {
  test(`does not allow admission to ${sentence}`, () => {
    const made = structuredClone(set());
    edit(made);
    assert.throws(
      () => demand(owned.daemonSet, set(), made),
      (error) => error instanceof AdmissionError && error.message.includes(field),
    );
  });
}

const secret = globalSecret({
  newest: {
    document: '{"auths":{"quay.io":{"auth":"cGxhbnRlZDpwYXNzd29yZA=="}}}',
    sources: "{}",
    intent: "apply",
    salt: Buffer.alloc(32),
    revision: 1,
  },
  mode: "Restart",
  served: "nothing",
  publishedAt: 1,
});
const others: readonly (readonly [
  sentence: string,
  path: string,
  declared: KubernetesObject,
  edit: object,
  fine: boolean,
])[] = [
  ["a label on the Secret", owned.global, secret, { metadata: { labels: { team: "x" } } }, true],
  [
    "other data",
    owned.global,
    secret,
    { data: { ...secret.data, ".dockerconfigjson": "e30=" } },
    false,
  ],
  ["another type of Secret", owned.global, secret, { type: "Opaque" }, false],
  [
    "an additional subject in the RoleBinding",
    owned.roleBinding,
    roleBinding,
    {
      subjects: [...(roleBinding.subjects ?? []), { kind: "User", name: "eve" }],
    },
    false,
  ],
];
for (const [sentence, path, declared, edit, fine] of others) {
  test(`${fine ? "allows" : "does not allow"} this change of a Secret or RoleBinding by admission: ${sentence}`, () => {
    const made = { ...declared, ...edit };
    if (fine) return demand(path, declared, made);
    assert.throws(
      () => demand(path, declared, made),
      (error) => error instanceof AdmissionError && !/cGxh|e30|planted/.test(error.message),
    );
  });
}
