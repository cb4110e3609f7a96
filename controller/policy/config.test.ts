import assert from "node:assert/strict";
import { test } from "node:test";
import { parseConfig } from "./config.ts";
import { usage } from "./flags.ts";

const errorsOf = (...argv: string[]) => {
  const parsed = parseConfig(argv);
  return parsed.ok ? [] : parsed.errors;
};

test("the defaults are those of the design", () => {
  assert.deepEqual(parseConfig([]), {
    ok: true,
    value: {
      policy: {
        sources: [],
        merge: { conflicts: "additional", protect: [] },
        rollout: {
          maxUnavailable: "10%",
          maxFailures: 0,
          probationSeconds: 5,
          minIntervalSeconds: 0,
        },
        withdrawal: { graceSeconds: 30, deadlineSeconds: 600, forgetAfterSeconds: 86_400 },
        agent: {
          restart: "Always",
          restartControlPlane: "Never",
          hiddenFiles: "Look",
          kubeletUnit: "auto",
          kubeletDirectory: "/var/lib/kubelet",
          dbusDirectory: "/run/dbus",
          probePort: 20248,
          healthzPort: 10248,
        },
      },
      original: undefined,
      originalKubeconfig: undefined,
      image: undefined,
      kubeconfig: undefined,
      listen: { host: "", port: 8080 },
      logLevel: "info",
    },
  });
});

test("every flag is read", () => {
  const argv =
    "--original ns/pull --original-kubeconfig /k --conflicts original --protect quay.io --protect gcr.io " +
    "--max-unavailable 3 --max-failures 2% --probation 30s --min-interval 5m " +
    "--withdrawal-grace 0s --withdrawal-deadline 2h --forget-after 3h " +
    "--restart Never --restart-control-plane Always --hidden-files Ignore --kubelet-unit k3s.service " +
    "--kubelet-directory /var/lib/rancher/k3s --dbus-directory /run/d --probe-port 1234 --healthz-port 10250 " +
    "--agent-image i:1 --kubeconfig /kc --listen [::1]:9090 --log-level debug";
  const parsed = parseConfig(argv.split(" "));
  assert.deepEqual(parsed, {
    ok: true,
    value: {
      policy: {
        sources: [],
        merge: { conflicts: "original", protect: ["quay.io", "gcr.io"] },
        rollout: {
          maxUnavailable: 3,
          maxFailures: "2%",
          probationSeconds: 30,
          minIntervalSeconds: 300,
        },
        withdrawal: { graceSeconds: 0, deadlineSeconds: 7200, forgetAfterSeconds: 10_800 },
        agent: {
          restart: "Never",
          restartControlPlane: "Always",
          hiddenFiles: "Ignore",
          kubeletUnit: "k3s.service",
          kubeletDirectory: "/var/lib/rancher/k3s",
          dbusDirectory: "/run/d",
          probePort: 1234,
          healthzPort: 10_250,
        },
      },
      original: { namespace: "ns", name: "pull" },
      originalKubeconfig: "/k",
      image: "i:1",
      kubeconfig: "/kc",
      listen: { host: "::1", port: 9090 },
      logLevel: "debug",
    },
  });
});

const wrong: readonly (readonly [argv: string, error: string])[] = [
  [
    "--original pull-secret",
    '--original "pull-secret": is not NAMESPACE/NAME of a Secret; give one such as kube-system/pull-secret',
  ],
  [
    "--original A/b",
    '--original "A/b": is not NAMESPACE/NAME of a Secret; give one such as kube-system/pull-secret',
  ],
  ["--conflicts both", '--conflicts "both": is none of the choices; give additional, original'],
  [
    "--max-unavailable 0",
    '--max-unavailable "0": is neither a number of nodes from 1 nor a percentage from 1% to 100%',
  ],
  [
    "--max-unavailable 101%",
    '--max-unavailable "101%": is neither a number of nodes from 1 nor a percentage from 1% to 100%',
  ],
  [
    "--max-failures 101%",
    '--max-failures "101%": is neither a number of nodes nor a percentage from 0% to 100%',
  ],
  ["--probation 2s", '--probation "2s": is no duration from 3s to 3600s; give one such as 5s'],
  ["--restart Sometimes", '--restart "Sometimes": is none of the choices; give Always, Never'],
  [
    "--kubelet-unit kubelet",
    '--kubelet-unit "kubelet": is no systemd service; give auto, or one such as kubelet.service',
  ],
  [
    "--kubelet-unit ../x.service",
    '--kubelet-unit "../x.service": is no systemd service; give auto, or one such as kubelet.service',
  ],
  [
    "--kubelet-directory var/lib",
    '--kubelet-directory "var/lib": is no absolute path of a directory without . and .. in it',
  ],
  [
    "--kubelet-directory /",
    '--kubelet-directory "/": is no absolute path of a directory without . and .. in it',
  ],
  [
    "--dbus-directory /run/../x",
    '--dbus-directory "/run/../x": is no absolute path of a directory without . and .. in it',
  ],
  ["--probe-port 1023", '--probe-port "1023": is no whole number from 1024 to 65535'],
  ["--probe-port 10248", "--probe-port 10248: is the kubelet's --healthz-port; choose another"],
  [
    "--withdrawal-deadline 10",
    '--withdrawal-deadline "10": is no duration; give one such as 90s, 10m or 2h',
  ],
  [
    "--withdrawal-grace 0",
    '--withdrawal-grace "0": is no duration; give one such as 90s, 10m or 2h',
  ],
  [
    "--protect quay.io/*",
    '--protect "quay.io/*": is no registry; name it as image names have it, such as quay.io',
  ],
  [
    "--protect quay.io:0x",
    '--protect "quay.io:[redacted]": is no registry; name it as image names have it, such as quay.io',
  ],
  ["--listen 8080", '--listen "8080": is no HOST:PORT; give one such as :8080'],
  [
    "--log-level loud",
    '--log-level "loud": is none of the choices; give trace, debug, info, warn, error',
  ],
  ["--original-kubeconfig /k", "--original-kubeconfig: needs --original NAMESPACE/NAME as well"],
  ["--conflicts original --conflicts additional", "--conflicts: given 2 times; give it once"],
  ["--colour red", "--colour: is no flag; --help names all"],
  ["--max-unavailble=3", "--max-unavailble: is no flag; give --max-unavailable"],
  ["stray", '"stray": belongs to no flag; remove it'],
  ["robot:t0ken", '"robot:[redacted]": belongs to no flag; remove it'],
  ["--kubeconfig --listen :1", "--kubeconfig: has no value; write --kubeconfig=VALUE"],
  ["--kubeconfig", "--kubeconfig: has no value; write --kubeconfig=VALUE"],
  [
    "--max-failures -1",
    '--max-failures "-1": is neither a number of nodes nor a percentage from 0% to 100%',
  ],
];
for (const [argv, error] of wrong)
  test(`refused: ${argv}`, () => assert.deepEqual(errorsOf(...argv.split(" ")), [error]));

test("an empty protected registry is refused", () => {
  assert.deepEqual(errorsOf("--protect", ""), [
    '--protect "": is empty; give a registry such as quay.io',
  ]);
});

test("all that is wrong is named at once", () =>
  assert.deepEqual(
    errorsOf(..."--restart No --probe-port x --healthz-port y --colour red --listen".split(" ")),
    [
      "--colour: is no flag; --help names all",
      '--restart "No": is none of the choices; give Always, Never',
      '--probe-port "x": is no whole number from 1024 to 65535',
      '--healthz-port "y": is no whole number from 1 to 65535',
      "--listen: has no value; write --listen=VALUE",
    ],
  ));

test("the usage names every flag once", () => {
  const names = [...usage().matchAll(/^ {2}--([a-z-]+) /gm)].map(([, name]) => name);
  assert.equal(new Set(names).size, names.length);
  assert.equal(names.length, 23);
});
