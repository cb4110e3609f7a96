import assert from "node:assert/strict";
import { test } from "node:test";
import { parseConfig } from "./config.ts";

const errorsOf = (...argv: string[]) => {
  const parsed = parseConfig(argv);
  return parsed.ok ? [] : parsed.errors;
};

test("uses the documented defaults without flags", () => {
  assert.deepEqual(parseConfig([]), {
    ok: true,
    value: {
      installed: {
        protect: [],
        limits: { deliveryModes: ["Restart", "Reread"], maxUnavailable: "100%" },
        agent: {
          restartControlPlane: "Never",
          kubeletUnit: "auto",
          kubeletDirectory: "/var/lib/kubelet",
          containerdDirectory: undefined,
          healthzPort: 10248,
          healthzAddress: "auto",
          seLinuxType: "spc_t",
          appArmorProfile: "Unconfined",
          pod: {
            labels: {},
            annotations: {},
            imagePullSecrets: [],
            nodes: {
              text: "type notin (virtual-kubelet,kwok),eks.amazonaws.com/compute-type notin (fargate),liqo.io/type notin (virtual-node)",
              requirements: [
                { key: "type", operator: "NotIn", values: ["virtual-kubelet", "kwok"] },
                { key: "eks.amazonaws.com/compute-type", operator: "NotIn", values: ["fargate"] },
                { key: "liqo.io/type", operator: "NotIn", values: ["virtual-node"] },
              ],
            },
            requests: { cpu: "10m", memory: "32Mi" },
            limits: { memory: "96Mi" },
            priorityClass: "system-node-critical",
          },
        },
      },
      original: undefined,
      originalKubeconfig: undefined,
      guestKubeconfig: undefined,
      namespace: "kube-system",
      image: undefined,
      kubeconfig: undefined,
      listen: { host: "", port: 8080 },
      "log-level": "info",
    },
  });
});

test("reads every flag", () => {
  const argv =
    "--original ns/pull --original-kubeconfig /k --guest-kubeconfig /g --namespace clusters-a --protect quay.io --protect gcr.io " +
    "--delivery-modes Reread --max-unavailable-limit 3 " +
    "--restart-control-plane Always --kubelet-unit k3s.service " +
    "--kubelet-directory /var/lib/rancher/k3s --healthz-port 10250 " +
    "--healthz-address ::1 --selinux-type super_t --apparmor-profile RuntimeDefault " +
    "--agent-label a=b --agent-label example.com/c= --agent-annotation d=e,f=g --agent-priority-class low " +
    "--agent-image-pull-secret x --agent-image-pull-secret y --agent-node-selector !a,b " +
    "--agent-requests cpu=1 --agent-limits cpu=1500m,memory=1Gi " +
    "--agent-image i:1 --kubeconfig /kc --listen [::1]:9090 --log-level debug";
  const parsed = parseConfig(argv.split(" "));
  assert.deepEqual(parsed, {
    ok: true,
    value: {
      installed: {
        protect: ["quay.io", "gcr.io"],
        limits: { deliveryModes: ["Reread"], maxUnavailable: 3 },
        agent: {
          restartControlPlane: "Always",
          kubeletUnit: "k3s.service",
          kubeletDirectory: "/var/lib/rancher/k3s",
          containerdDirectory: undefined,
          healthzPort: 10_250,
          healthzAddress: "::1",
          seLinuxType: "super_t",
          appArmorProfile: "RuntimeDefault",
          pod: {
            labels: { a: "b", "example.com/c": "" },
            annotations: { d: "e,f=g" },
            imagePullSecrets: ["x", "y"],
            nodes: {
              text: "!a,b",
              requirements: [
                { key: "a", operator: "DoesNotExist" },
                { key: "b", operator: "Exists" },
              ],
            },
            requests: { cpu: "1" },
            limits: { cpu: "1500m", memory: "1Gi" },
            priorityClass: "low",
          },
        },
      },
      original: { namespace: "ns", name: "pull" },
      originalKubeconfig: "/k",
      guestKubeconfig: "/g",
      namespace: "clusters-a",
      image: "i:1",
      kubeconfig: "/kc",
      listen: { host: "::1", port: 9090 },
      "log-level": "debug",
    },
  });
});

const wrong: readonly (readonly [argv: string, error: string])[] = [
  [
    "--original pull-secret",
    '--original "pull-secret": is not NAMESPACE/NAME of a Secret (example: kube-system/pull-secret)',
  ],
  [
    "--original A/b",
    '--original "A/b": is not NAMESPACE/NAME of a Secret (example: kube-system/pull-secret)',
  ],
  [
    "--original a/b/c",
    '--original "a/b/c": is not NAMESPACE/NAME of a Secret (example: kube-system/pull-secret)',
  ],
  [
    "--delivery-modes Restart,Sometimes",
    '--delivery-modes "Restart,Sometimes": is not one of the choices; give Restart, Reread, CredentialProvider, Runtime',
  ],
  [
    "--delivery-modes Reread,Runtime",
    "--delivery-modes: Runtime also needs --containerd-directory, such as /etc/containerd",
  ],
  [
    "--max-unavailable-limit 0",
    '--max-unavailable-limit "0": is neither a number of nodes from 1 nor a percentage from 1% to 100%',
  ],
  [
    "--max-unavailable-limit 0%",
    '--max-unavailable-limit "0%": is neither a number of nodes from 1 nor a percentage from 1% to 100%',
  ],
  [
    "--max-unavailable-limit 101%",
    '--max-unavailable-limit "101%": is neither a number of nodes from 1 nor a percentage from 1% to 100%',
  ],
  [
    "--kubelet-unit kubelet",
    '--kubelet-unit "kubelet": is not a systemd service; give auto, or a name such as kubelet.service',
  ],
  [
    "--kubelet-unit ../x.service",
    '--kubelet-unit "../x.service": is not a systemd service; give auto, or a name such as kubelet.service',
  ],
  [
    "--kubelet-directory var/lib",
    '--kubelet-directory "var/lib": is not an absolute path of a directory without . and ..',
  ],
  [
    "--kubelet-directory /",
    '--kubelet-directory "/": is not an absolute path of a directory without . and ..',
  ],
  ["--healthz-port 65536", '--healthz-port "65536": is not a whole number from 1 to 65535'],
  [
    "--protect quay.io/*",
    '--protect "quay.io/*": is not a registry; give it as in image names, such as quay.io',
  ],
  [
    "--protect quay.io:0x",
    '--protect "quay.io:[redacted]": is not a registry; give it as in image names, such as quay.io',
  ],
  ["--listen 8080", '--listen "8080": is not HOST:PORT; give a value such as :8080'],
  ["--original-kubeconfig /k", "--original-kubeconfig: also needs --original NAMESPACE/NAME"],
  ["--namespace a", "--namespace: without --guest-kubeconfig, it must be kube-system"],
  [
    "--namespace a.b --guest-kubeconfig /g",
    '--namespace "a.b": is not a valid namespace name (example: kube-system)',
  ],
  ...["name=x", "app.kubernetes.io/managed-by=x", "controller-revision-hash=x"].map(
    (label) =>
      [
        `--agent-label ${label}`,
        `--agent-label "${label}": is a label of this product; choose another name`,
      ] as const,
  ),
  ["--agent-label a=b/c", '--agent-label "a=b/c": has a value that is not valid for a label'],
  ...["-label", "-annotation"].map(
    (flag) =>
      [
        `--agent${flag} team`,
        `--agent${flag} "team": is not KEY=VALUE (example: example.com/team=platform)`,
      ] as const,
  ),
  [
    "--agent-annotation globalpullsecret.io/revision=9",
    '--agent-annotation "globalpullsecret.io/revision=9": begins like a name of this product; choose another name',
  ],
  [
    "--agent-image-pull-secret ns/a",
    '--agent-image-pull-secret "ns/a": is not a valid Secret name (example: regcred)',
  ],
  [
    "--agent-image-pull-secret ",
    '--agent-image-pull-secret "": is not a valid Secret name (example: regcred)',
  ],
  [
    "--agent-node-selector a>1",
    "--agent-node-selector \"a>1\": is not a label selector (example: 'zone in (a,b),!example.com/tainted')",
  ],
  [
    "--agent-priority-class High",
    '--agent-priority-class "High": is not a valid PriorityClass name (example: system-node-critical)',
  ],
  ...["memory", "memory=", "memory=0", "memory=1gb", "disk=1", "memory=1=2"].map(
    (requests) =>
      [
        `--agent-requests ${requests}`,
        `--agent-requests "${requests}": is not a list of quantities of cpu, memory, ephemeral-storage (example: cpu=10m,memory=32Mi)`,
      ] as const,
  ),
  [
    "--agent-limits memory=95Mi",
    '--agent-limits "memory=95Mi": has less memory than an agent needs; set memory=96Mi or more',
  ],
  [
    "--agent-limits memory=100M",
    '--agent-limits "memory=100M": has less memory than an agent needs; set memory=96Mi or more',
  ],
  [
    "--healthz-address localhost",
    '--healthz-address "localhost": is not an IP address; give auto, or an address such as 10.0.0.1',
  ],
  ...["spc-t", "Spc_t", "spc.t"].map(
    (type) =>
      [
        `--selinux-type ${type}`,
        `--selinux-type "${type}": is not an SELinux type; give a type such as spc_t or super_t`,
      ] as const,
  ),
  ...["unconfined", "Localhost/", "Localhost/a,b"].map(
    (profile) =>
      [
        `--apparmor-profile ${profile}`,
        `--apparmor-profile "${profile}": is not an AppArmor profile; give Unconfined, RuntimeDefault or Localhost/NAME`,
      ] as const,
  ),
  ["robot:t0ken", '"robot:[redacted]": belongs to no flag; remove it'],
];
for (const [argv, error] of wrong)
  test(`refused: ${argv}`, () => assert.deepEqual(errorsOf(...argv.split(" ")), [error]));

const quantities: readonly (readonly [given: string, written: string])[] = [
  ["cpu=1000m", "1"],
  ["cpu=0.5", "500m"],
  ["cpu=2", "2"],
  ["memory=1024Mi", "1Gi"],
  ["memory=1.5Gi", "1536Mi"],
  ["memory=200000k", "200M"],
  ["memory=134217728", "134217728"],
  ["memory=1024Ei", "1024Ei"],
  ["memory=9E", "9E"],
  ["memory=101M", "101M"],
];
for (const [quantity, written] of quantities)
  test(`declares ${quantity} as the API server writes it`, () => {
    const parsed = parseConfig([`--agent-limits=${quantity}`]);
    assert.deepEqual(parsed.ok && Object.values(parsed.value.installed.agent.pod.limits), [
      written,
    ]);
  });

const part = "p".repeat(63);
const prefix = `${[part, part, part].join(".")}.${"p".repeat(61)}`;
for (const [what, most] of [
  ["prefix", [`${prefix}/a`, `${prefix}p/a`]],
  ["name", [`a/${part}`, `a/${part}p`]],
] as const)
  test(`accepts a key of a label and of an annotation up to the longest ${what} of Kubernetes`, () => {
    const [longest, longer] = most;
    for (const flag of ["--agent-label", "--agent-annotation"]) {
      assert.deepEqual(errorsOf(flag, `${longest}=x`), []);
      assert.match(errorsOf(flag, `${longer}=x`).join(), /is not KEY=VALUE/);
    }
  });

test("accepts a label's value of up to 63 characters", () => {
  assert.deepEqual(errorsOf("--agent-label", `a=${part}`), []);
  assert.match(errorsOf("--agent-label", `a=${part}p`).join(), /has a value that is not valid/);
});

for (const [given, limit] of [
  ["1", 1],
  ["999999", 999_999],
  ["1%", "1%"],
  ["0100%", "100%"],
] as const)
  test(`limits maxUnavailable to ${limit} with --max-unavailable-limit ${given}`, () => {
    const parsed = parseConfig([`--max-unavailable-limit=${given}`]);
    assert.deepEqual(parsed.ok && parsed.value.installed.limits.maxUnavailable, limit);
  });

test("allows empty lists of resources, and blanks around a quantity", () => {
  assert.deepEqual(errorsOf("--agent-requests=", "--agent-limits="), []);
  assert.deepEqual(errorsOf("--agent-requests", " cpu=10m, memory=32Mi "), []);
});

test("refuses an empty protected registry", () => {
  assert.deepEqual(errorsOf("--protect", ""), [
    '--protect "": is empty; give a registry such as quay.io',
  ]);
});

test("reports all errors at once", () =>
  assert.deepEqual(
    errorsOf(..."--restart-control-plane No --healthz-port y --colour red --listen".split(" ")),
    [
      "--colour: is not a flag; --help names all",
      '--restart-control-plane "No": is not one of the choices; give Always, Never',
      '--healthz-port "y": is not a whole number from 1 to 65535',
      "--listen: has no value; write --listen=VALUE",
    ],
  ));

test("accepts a repeated mode, and several modes at once", () => {
  const modes = (...argv: string[]) => {
    const parsed = parseConfig(argv);
    return parsed.ok ? parsed.value.installed.limits.deliveryModes : parsed.errors;
  };
  const both = ["Restart", "Reread"];
  assert.deepEqual(modes("--delivery-modes", "Restart", "--delivery-modes=Reread"), both);
  assert.deepEqual(modes("--delivery-modes", "Restart, Reread,Restart"), both);
});
