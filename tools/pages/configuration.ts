/** docs/reference/configuration.md: the flags of the installer. */
import { usage } from "#controller/policy/flags.ts";

/** The page shows the same help that the controller prints. */
export function configurationPage(): string {
  return `# The installer's flags

After this page you can set everything that an editor of GlobalPullSecret must not decide: where the original is, host paths, units, the image. The policy is the [spec of the object](globalpullsecret.md); [configure](../use/configure.md) explains both.

These are flags of the controller. Set them as \`args\` of its container, in a kustomization (with the chart: \`flags.*\` in camelCase):

\`\`\`yaml
resources: [./manifests]
patches:
  - target: { kind: Deployment, name: global-pull-secret-controller }
    patch: |-
      - { op: add, path: /spec/template/spec/containers/0/args/-, value: --max-unavailable-limit=25% }
\`\`\`

\`\`\`
${usage().trimEnd()}
\`\`\`

A wrong value stops the controller at its start. The controller prints one line for each wrong flag: the value, the problem, and what to give instead. Some flags also need [an annotation](../use/install.md#what-the-controllers-account-may-do).
`;
}
