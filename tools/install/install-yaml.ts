/**
 * install.yaml, for `kubectl apply -f`: the objects of `kubectl apply -k manifests` with an image
 * that nodes can pull.
 *
 *     node tools/build/run.mjs tools/install/install-yaml.ts IMAGE > install.yaml
 *
 * Works without kustomize, so that a release needs no Go. A test compares the output with that of
 * `kubectl kustomize`.
 */
import { join } from "node:path";
import { kustomizationOf, objectsOf, textOf, type KubeObject } from "./yaml.ts";

/** The files of the kustomization, CRDs first, because an object needs its CRD. */
function filesIn(folder: string): string[] {
  const { components = [], resources = [] } = kustomizationOf(folder);
  return [...components, ...resources].flatMap((one) =>
    one.endsWith(".yaml") ? [join(folder, one)] : filesIn(join(folder, one)),
  );
}

/**
 * The text of install.yaml, with `image` in both places where manifests/base has the image's name.
 */
export function installYaml(image: string): string {
  const placeholder = /^( +(?:globalpullsecret\.io\/agent-)?image: )global-pull-secret$/m;
  const texts = filesIn(".").map((file) => textOf(file).trim());
  return `${texts.map((text) => text.replace(placeholder, `$1${image}`)).join("\n---\n")}\n`;
}

export const installObjects = (image: string): KubeObject[] => objectsOf(installYaml(image));

if (import.meta.main) {
  const [image, ...more] = process.argv.slice(2);
  if (image === undefined || more.length > 0) {
    process.stderr.write(
      "IMAGE: give one, such as registry.example.com/global-pull-secret:1.0.0\n",
    );
    process.exit(2);
  }
  process.stdout.write(installYaml(image));
}
