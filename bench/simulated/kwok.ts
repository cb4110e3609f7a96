/**
 * kwok, which plays kubelets: pinned by bench/kwok/go.mod, built once into the cache, with the
 * stages of its own module.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { revisionAnnotation } from "#contract/names.ts";
import { cacheRoot, keyOf, once } from "#test/cluster/cache.ts";
import { progress, run } from "#test/cluster/run.ts";

const moduleDirectory = join(import.meta.dirname, "kwok");
const flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags=-s -w"];

/**
 * What a fake node and a fake pod do: become Ready at once, send heartbeats, go when deleted.
 */
const stages = [
  "node/fast/node-initialize",
  "node/heartbeat-with-lease/node-heartbeat-with-lease",
  "pod/fast/pod-ready",
  "pod/fast/pod-complete",
  "pod/fast/pod-delete",
];

/** Paths of the program (a minute to build, once) and of the text of its configuration. */
export async function kwok(): Promise<{ program: string; configuration: string }> {
  const [mod, sum] = ["go.mod", "go.sum"].map((file) =>
    readFileSync(join(moduleDirectory, file), "utf8"),
  );
  const program = join(
    cacheRoot,
    `kwok-${keyOf(mod ?? "", sum ?? "", flags.join(" "), process.arch)}`,
    "kwok",
  );
  const go = {
    cwd: moduleDirectory,
    env: { ...(process.env as Record<string, string>), CGO_ENABLED: "0", GOFLAGS: "" },
  };
  await once(program, async (draft) => {
    progress("building kwok");
    await run(["go", "build", ...flags, "-o", draft, "sigs.k8s.io/kwok/cmd/kwok"], go);
  });
  const module = (
    await run(["go", "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok"], go)
  ).trim();
  const texts = stages.map((stage) =>
    readFileSync(join(module, `kustomize/stage/${stage}.yaml`), "utf8"),
  );
  return { program, configuration: withWord(texts.join("\n---\n")) };
}

/**
 * A fake agent's container has ended once with the word that everything was given back: a removal
 * believes nothing less (docs/decisions/0025), and nobody asks before. YAML and Go's template as
 * kwok reads them.
 */
export function withWord(stages: string): string {
  const [line = "", indent = ""] = /\n( +)ready: true\n/.exec(stages) ?? [];
  if (line === "") throw new Error("kwok's stage of a Ready pod is not as it was");
  const revision = `{{ index $.metadata.annotations "${revisionAnnotation}" }}`;
  const word = [
    `{{ if eq .name "agent" }}`,
    "lastState:",
    "  terminated:",
    "    exitCode: 0",
    `    message: 'GPS224 withdrawn (revision ${revision})'`,
    "{{ end }}",
  ];
  return stages.replace(line, () => line + word.map((one) => `${indent}${one}\n`).join(""));
}
