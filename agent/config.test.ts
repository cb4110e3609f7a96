import assert from "node:assert/strict";
import test from "node:test";
import { ConfigError, readConfig } from "./config.ts";

const environment = { REVISION: "7", DIGEST: "seven's", NODE_NAME: "node1" };

test("without flags the agent runs as the DaemonSet mounts it", () => {
  assert.deepEqual(readConfig([], environment), {
    revision: 7,
    digest: "seven's",
    node: "node1",
    unit: "auto",
    restart: "Always",
    restartControlPlane: "Never",
    hiddenFiles: "Look",
    settle: 5000,
    healthzPort: 10248,
    probePort: 20248,
    secretDirectory: "/etc/global-pull-secret",
    kubeletDirectory: "/host/kubelet",
    dbusDirectory: "/host/dbus",
    podDirectory: "/run/global-pull-secret",
    terminationLog: "/dev/termination-log",
  });
});

test("a flag that cannot be used is named, with its value and what would be right", () => {
  const table: readonly (readonly [args: string[], message: string])[] = [
    [
      ["--unit", "kubelet"],
      '--unit: "kubelet" is neither auto nor the name of a service unit, such as kubelet.service',
    ],
    [["--unit", "../x.service"], '--unit: "../x.service" is neither auto nor'],
    [["--restart-control-plane", "no"], '--restart-control-plane: "no" is neither Always nor Never'],
    [["--hidden-files", "look"], '--hidden-files: "look" is neither Look nor Ignore'],
    [["--restart", "never"], '--restart: "never" is neither Always nor Never'],
    [["--settle", "-1"], ""],
    [["--settle=5s"], '--settle: "5s" is not a whole number from 0 to 3600'],
    [["--settle=3601"], '--settle: "3601" is not a whole number from 0 to 3600'],
    [["--healthz-port=0"], '--healthz-port: "0" is not a whole number from 1 to 65535'],
    [["--probe-port=1023"], '--probe-port: "1023" is not a whole number from 1024 to 65535'],
    [["--kubelet-directory=var"], '--kubelet-directory: "var" is not an absolute path'],
    [["--nope"], "Unknown option '--nope'"],
    [["extra"], ""],
  ];
  for (const [args, message] of table)
    assert.throws(
      () => readConfig(args, environment),
      (error) => error instanceof ConfigError && error.message.startsWith(message),
      args.join(" "),
    );
});

test("REVISION must be a whole number", () => {
  for (const revision of [undefined, "", "-1", "1.5", "7 ", "1e3", "99999999999999999"])
    assert.throws(() => readConfig([], { REVISION: revision }), /^ConfigError|REVISION: /);
});
