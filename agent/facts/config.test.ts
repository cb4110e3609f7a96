import assert from "node:assert/strict";
import test from "node:test";
import { modeOf, parseConfig, usage } from "./config.ts";

const environment = {
  NODE_NAME: "node1",
  POD_UID: "u-1",
  KUBERNETES_SERVICE_HOST: "fd00::1",
  KUBERNETES_SERVICE_PORT: "443",
};

function configOf(...argv: readonly string[]) {
  const parsed = parseConfig(argv, environment);
  assert.ok(parsed.ok);
  return parsed.value;
}

function errorsOf(argv: readonly string[], variables: Record<string, string> = environment) {
  const parsed = parseConfig(argv, variables);
  return parsed.ok ? [] : parsed.errors;
}

test("has defaults that match the DaemonSet's mounts", () => {
  assert.deepEqual(configOf(), {
    node: "node1",
    uid: "u-1",
    unit: "auto",
    delivery: "ConfigFile",
    scope: "All",
    restart: "Always",
    restartControlPlane: "Never",
    probation: 5000,
    healthzPort: 10248,
    healthzAddress: "auto",
    secretDirectory: "/etc/global-pull-secret",
    kubeletDirectory: "/host/kubelet",
    systemdDirectory: "/host/systemd",
    containerdPath: undefined,
    containerdDirectory: "/host/containerd",
    hostsDirectory: "/host/certs.d",
    credentialsDirectory: "/var/run/secrets/kubernetes.io/serviceaccount",
    mountinfo: "/proc/self/mountinfo",
    apiHost: "fd00::1",
    apiPort: 443,
  });
});

test("reads every flag", () => {
  const argv =
    "--unit k3s.service --delivery CredentialProvider --scope Annotated --restart Never --restart-control-plane Always --probation 0s " +
    "--healthz-port 10250 --healthz-address 10.0.0.1 --secret-directory /s --kubelet-directory /k --systemd-directory /sd " +
    "--containerd-path /e --containerd-directory /ce --hosts-directory /h --credentials-directory /c --mountinfo /m";
  assert.equal(
    Object.values(configOf(...argv.split(" "))).join(" "),
    "node1 u-1 k3s.service CredentialProvider Annotated Never Always 0 10250 10.0.0.1 /s /k /sd /e /ce /h /c /m fd00::1 443",
  );
});

for (const [argv, expected] of [
  ["--restart Always", "Restart"],
  ["--restart Never --scope Annotated", "Reread"],
  ["--restart Never --delivery CredentialProvider", "CredentialProvider"],
  ["--restart Never --delivery Runtime", "Runtime"],
  ["--delivery Runtime --scope Annotated", "Runtime"],
  ["--restart Never --delivery CredentialProvider --scope All", "CredentialProvider"],
  [
    "--restart Never --delivery CredentialProvider --scope Annotated",
    "CredentialProviderAnnotated",
  ],
] as const)
  test(`takes content of mode ${expected} with ${argv}`, () =>
    assert.equal(modeOf(configOf(...argv.split(" "))), expected));

const wrong: readonly (readonly [argv: string, error: string])[] = [
  [
    "--unit kubelet",
    '--unit "kubelet": is not a systemd service; give auto, or a name such as kubelet.service',
  ],
  [
    "--unit ../x.service",
    '--unit "../x.service": is not a systemd service; give auto, or a name such as kubelet.service',
  ],
  [
    "--delivery Restart",
    '--delivery "Restart": is not one of the choices; give ConfigFile, CredentialProvider, Runtime',
  ],
  ["--scope annotated", '--scope "annotated": is not one of the choices; give All, Annotated'],
  ["--restart never", '--restart "never": is not one of the choices; give Always, Never'],
  [
    "--restart-control-plane no",
    '--restart-control-plane "no": is not one of the choices; give Always, Never',
  ],
  [
    "--probation -1s",
    '--probation "-1s": is not a duration from 0s to 3600s; give a value such as 5s',
  ],
  ["--probation=5", '--probation "5": is not a duration from 0s to 3600s; give a value such as 5s'],
  [
    "--probation=3601s",
    '--probation "3601s": is not a duration from 0s to 3600s; give a value such as 5s',
  ],
  ["--probation=1s --probation=2s", "--probation: given 2 times; give it once"],
  ["--probation", "--probation: has no value; write --probation=VALUE"],
  ["--healthz-port=0", '--healthz-port "0": is not a whole number from 1 to 65535'],
  [
    "--kubelet-directory=var",
    '--kubelet-directory "var": is not an absolute path of a directory without . and ..',
  ],
  ["--nope", "--nope: is not a flag; --help names all"],
  ["--probaton=1", "--probaton: is not a flag; --help names all"],
  ["extra", '"extra": belongs to no flag; remove it'],
];
for (const [argv, error] of wrong)
  test(`refuses ${argv}`, () => assert.deepEqual(errorsOf(argv.split(" ")), [error]));

for (const port of ["0", "65536", "", "x", "4 43"])
  test(`refuses port ${JSON.stringify(port)}, of the API server and of healthz`, () => {
    assert.equal(errorsOf([], { ...environment, KUBERNETES_SERVICE_PORT: port }).length, 1);
    assert.equal(errorsOf([`--healthz-port=${port}`]).length, 1);
  });

test("accepts the lowest and the highest value of a number and of a time", () => {
  for (const port of [1, 65_535]) {
    const parsed = parseConfig([], { ...environment, KUBERNETES_SERVICE_PORT: String(port) });
    assert.equal(parsed.ok && parsed.value.apiPort, port);
    assert.equal(configOf(`--healthz-port=${port}`).healthzPort, port);
  }
  assert.equal(configOf("--probation=3600s").probation, 3_600_000);
});

test("requires the address of the API server", () => {
  const { KUBERNETES_SERVICE_HOST: _host, KUBERNETES_SERVICE_PORT: _port, ...others } = environment;
  assert.deepEqual(errorsOf([], others), [
    "KUBERNETES_SERVICE_HOST: is missing; give the API server's address, which the kubelet sets in every container",
    "KUBERNETES_SERVICE_PORT: is missing; give the API server's port, which the kubelet sets in every container",
  ]);
});

test("reports all wrong flags at once", () =>
  assert.deepEqual(errorsOf(["--restart=No", "--nope", "--probation=x"]), [
    "--nope: is not a flag; --help names all",
    '--restart "No": is not one of the choices; give Always, Never',
    '--probation "x": is not a duration from 0s to 3600s; give a value such as 5s',
  ]));

test("lists every flag and variable once in the usage", () => {
  const names = [...usage().matchAll(/^ {2}(--[a-z-]+|[A-Z_]+) /gm)].map(([, name]) => name);
  assert.equal(new Set(names).size, names.length);
  assert.equal(names.length, 20);
});
