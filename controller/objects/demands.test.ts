import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubernetesObject, V1DaemonSet } from "@kubernetes/client-node";
import { agent } from "./agent.fixture.ts";
import { daemonSet, roleBinding } from "./daemonset.ts";
import { AdmissionError, demand } from "#kube/apply/demands.ts";
import { owned } from "#kube/client/paths.ts";
import { globalSecret } from "./global-secret.ts";

const set = () => daemonSet(agent, 1);

type Edit = (daemonSet: V1DaemonSet) => void;
const pod = ({ spec }: V1DaemonSet) => spec?.template.spec ?? assert.fail();
const volume = (daemonSet: V1DaemonSet, name: string) =>
  pod(daemonSet).volumes?.find((volume) => volume.name === name) ?? assert.fail();
const first = (daemonSet: V1DaemonSet) => pod(daemonSet).containers[0] ?? assert.fail();

const tolerated: readonly (readonly [sentence: string, edit: Edit])[] = [
  ["another image", (daemonSet) => (first(daemonSet).image = "informer.example/agent:1")],
  [
    "an additional variable",
    (daemonSet) => first(daemonSet).env?.unshift({ name: "HTTPS_PROXY", value: "http://p" }),
  ],
  [
    "an additional mount and its volume",
    (daemonSet) => {
      first(daemonSet).volumeMounts?.push({ name: "ca", mountPath: "/ca" });
      pod(daemonSet).volumes?.unshift({ name: "ca", emptyDir: {} });
    },
  ],
  [
    "a container beside the agent",
    (daemonSet) => pod(daemonSet).containers.unshift({ name: "proxy" }),
  ],
  ["other tolerations", (daemonSet) => (pod(daemonSet).tolerations = [])],
  [
    "additional labels and annotations",
    (daemonSet) => {
      Object.assign(daemonSet.metadata ?? {}, { labels: { team: "x" } });
      Object.assign(daemonSet.spec?.template.metadata?.annotations ?? {}, { cost: "shared" });
    },
  ],
  ["other resources", (daemonSet) => (first(daemonSet).resources = {})],
];
for (const [sentence, edit] of tolerated) {
  test(`allows admission to give the agents ${sentence}`, () => {
    const daemonSet = structuredClone(set());
    edit(daemonSet);
    demand(owned.daemonSet, set(), daemonSet);
  });
}

const annotationsOf = (daemonSet: V1DaemonSet) =>
  daemonSet.spec?.template.metadata?.annotations ?? {};
const refused: readonly (readonly [sentence: string, edit: Edit, field: string])[] = [
  [
    "remove the digest from the template",
    (daemonSet) => void delete annotationsOf(daemonSet)["globalpullsecret.io/template"],
    "template",
  ],
  [
    "change the mode in the template",
    (daemonSet) => (annotationsOf(daemonSet)["globalpullsecret.io/mode"] = "Reread"),
    "mode",
  ],
  [
    "let the DaemonSet controller replace more pods at a time",
    (daemonSet) =>
      Object.assign(daemonSet.spec?.updateStrategy?.rollingUpdate ?? {}, { maxUnavailable: 9 }),
    "updateStrategy.rollingUpdate.maxUnavailable",
  ],
  [
    "shorten the time for which a new pod must run",
    (daemonSet) => Object.assign(daemonSet.spec ?? {}, { minReadySeconds: 0 }),
    "minReadySeconds",
  ],
  ["give the agent another command", (daemonSet) => (first(daemonSet).command = ["sh"]), "command"],
  [
    "set another node for the agent",
    (daemonSet) => (first(daemonSet).env = [{ name: "NODE_NAME", value: "other" }]),
    "env[NODE_NAME]",
  ],
  [
    "mount another Secret",
    (daemonSet) => (volume(daemonSet, "global-pull-secret").secret = { secretName: "x" }),
    "volumes[global-pull-secret]",
  ],
  [
    "uncover the kubelet's keys",
    (daemonSet) => {
      const { volumeMounts = [] } = first(daemonSet);
      volumeMounts.splice(
        volumeMounts.findIndex(({ mountPath }) => mountPath.endsWith("/pki")),
        1,
      );
    },
    "volumeMounts",
  ],
  [
    "remove the token",
    (daemonSet) => (volume(daemonSet, "credentials").projected = { sources: [] }),
    "volumes[credentials]",
  ],
];
for (const [sentence, edit, field] of refused) {
  test(`does not allow admission to ${sentence}`, () => {
    const daemonSet = structuredClone(set());
    edit(daemonSet);
    assert.throws(
      () => demand(owned.daemonSet, set(), daemonSet),
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
  former: "",
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
    const object = { ...declared, ...edit };
    if (fine) return demand(path, declared, object);
    assert.throws(
      () => demand(path, declared, object),
      (error) => error instanceof AdmissionError && !/cGxh|e30|planted/.test(error.message),
    );
  });
}
