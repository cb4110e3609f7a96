/**
 * Specs that must be refused, each with a part of the error message. The message is that of our
 * rule, if the rule has one. If not, the message is that of the API server, or of kubectl if
 * kubectl checks the spec first.
 */
const source = (name: unknown, secret: unknown, more: object = {}) => ({
  sources: [{ name, secretRef: { name: secret }, ...more }],
});
const rollout = (field: string, value: unknown) => ({ rollout: { [field]: value } });
const withdrawal = (field: string, value: unknown) => ({ withdrawal: { [field]: value } });
const verification = (field: string, value: unknown) => ({ verification: { [field]: value } });
const many = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ name: `s${at}`, secretRef: { name: `p${at}` } }));
const provider = (credentialProvider: object) => ({
  delivery: { mode: "CredentialProvider", credentialProvider },
});
const hosts = (count: number) => Array.from({ length: count }, (_, at) => `r${at}.example`);

const nodes = "must be a number of nodes from";
const label = "must be lower-case letters, digits and hyphens";
const always = "is the name of a source that is always there";
const product = "is a Secret of the product itself";
const providerOnly = "credentialProvider needs mode CredentialProvider";
const host = "must be a registry as in image names";

export const wrongSpecs: readonly (readonly [spec: object, words: string])[] = [
  [{ managmentState: "Paused" }, "unknown field"],
  [{ managementState: "paused" }, "Unsupported value"],
  [{ managementState: "" }, "Unsupported value"],
  [{ managementState: true }, "must be of type string|invalid type for"],
  [{ conflictPolicy: "PreferNobody" }, "Unsupported value"],
  [{ image: "evil.example/agent" }, "unknown field"],
  [{ delivery: { mode: "credentialProvider" } }, "Unsupported value"],
  [{ delivery: { credentialProvider: {} } }, providerOnly],
  [{ delivery: { mode: "Reread", credentialProvider: { scope: "All" } } }, providerOnly],
  [provider({ scope: "None" }), "Unsupported value"],
  [provider({ binDir: "/tmp" }), "unknown field"],
  [{ delivery: { mode: "Restart", unit: "sshd.service" } }, "unknown field"],
  [{ delivery: "Restart" }, "must be of type object|invalid type for"],
  [{ protectedRegistries: "quay.io" }, "must be of type array|invalid type for"],
  [{ protectedRegistries: ["quay.io", "quay.io"] }, "Duplicate value"],
  [{ protectedRegistries: [""] }, "should be at least 1 chars long"],
  [{ protectedRegistries: ["https://quay.io"] }, host],
  [{ protectedRegistries: ["quay io"] }, host],
  [{ protectedRegistries: ["a".repeat(256)] }, "may not be more than 255"],
  [{ protectedRegistries: hosts(65) }, "must have at most 64 items"],
  [{ sources: [{ name: "team-a" }] }, "Required value|missing required field"],
  [{ sources: [{ secretRef: { name: "team-a-pull" } }] }, "Required value|missing required field"],
  [{ sources: [{ name: "team-a", secretRef: {} }] }, "Required value|missing required field"],
  [{ sources: many(17) }, "must have at most 16 items"],
  [{ sources: [...many(1), ...many(1)] }, "Duplicate value"],
  [{ sources: [...many(1), { name: "other", secretRef: { name: "p0" } }] }, "name the same Secret"],
  [source("Team-A", "p"), label],
  [source("team.a", "p"), label],
  [source("a".repeat(64), "p"), "may not be more than 63"],
  [source("original", "p"), always],
  [source("additional", "p"), always],
  [source("additional-pull-secret", "p"), always],
  [source("team-a", "additional-pull-secret"), product],
  [source("team-a", "global-pull-secret"), product],
  [source("team-a", "global-pull-secret-state"), product],
  [source("team-a", "Team_A"), "must be the name of a Secret in kube-system"],
  [source("team-a", "p", { priority: 1001 }), "should be less than or equal to 1000"],
  [source("team-a", "p", { priority: -1001 }), "should be greater than or equal to -1000"],
  [source("team-a", "p", { priority: "high" }), "must be of type integer|invalid type for"],
  [source("team-a", "p", { namespace: "default" }), "unknown field"],
  [rollout("maxUnavailable", 0), `${nodes} 1`],
  [rollout("maxUnavailable", "0%"), `${nodes} 1`],
  [rollout("maxUnavailable", "101%"), "may not be more than 4|must be a number of nodes from 1"],
  [rollout("maxFailures", -1), `${nodes} 0`],
  [rollout("maxFailures", "two"), `${nodes} 0`],
  [rollout("probation", "2s"), "must be a duration from 3s to 10m"],
  [rollout("probation", "10m1s"), "must be a duration from 3s to 10m"],
  [rollout("probation", 5), "must be of type string|invalid type for"],
  [rollout("minInterval", "-1s"), "must be a duration in whole seconds"],
  [rollout("minInterval", ""), "must be a duration in whole seconds"],
  [withdrawal("grace", "61m"), "must be a duration from 0s to 1h"],
  [withdrawal("deadline", "59s"), "must be a duration of 1m or more"],
  [withdrawal("forgetAfter", "1d"), "must be a duration of 1m or more"],
  [verification("interval", "9m"), "must be a duration from 10m to 168h"],
  [verification("interval", "169h"), "must be a duration from 10m to 168h"],
  [verification("mode", false), "must be of type string|invalid type for"],
  [verification("images", ["a.io/x", "a.io/x"]), "Duplicate value|duplicate"],
];
