/** For tests: values of flags that both the controller and helm must accept or refuse. */

/** Flag in camelCase → a value that the controller accepts. */
export const samples = {
  protect: ["quay.io", "ghcr.io/team"],
  deliveryModes: ["Reread"],
  maxUnavailableLimit: "25%",
  restartControlPlane: "Always",
  kubeletUnit: "k3s.service",
  kubeletDirectory: "/opt/kubelet",
  containerdDirectory: "/etc/containerd",
  agentImage: "a.example/b:1",
  agentAnnotation: ["a.example/owner=me, you"],
  agentImagePullSecret: ["mirror"],
  agentLabel: ["team=a"],
  agentLimits: "",
  agentNodeSelector: "type!=virtual-kubelet,pool in (a,b)",
  agentPriorityClass: "",
  agentRequests: "memory=32Mi",
  healthzPort: 10_001,
  healthzAddress: "10.0.0.1",
  selinuxType: "super_t",
  apparmorProfile: "Localhost/agent",
  logLevel: "debug",
};

/**
 * Flag in camelCase → a value that the controller refuses. `agentImage` is absent, because an image
 * can have any name.
 */
export const badSamples: Readonly<
  Record<Exclude<keyof typeof samples, "agentImage">, string | number | readonly string[]>
> = {
  protect: ["quay.io/*"],
  deliveryModes: ["Reread,Sometimes"],
  maxUnavailableLimit: "0%",
  restartControlPlane: "Maybe",
  kubeletUnit: "kubelet",
  kubeletDirectory: "/var/../lib/kubelet",
  containerdDirectory: "etc/containerd",
  agentAnnotation: ["owner"],
  agentImagePullSecret: ["Mirror"],
  agentLabel: ["team=a b"],
  agentLimits: "memory",
  agentNodeSelector: "zone>a",
  agentPriorityClass: "High",
  agentRequests: "gpu=1",
  healthzPort: 70_000,
  healthzAddress: "localhost",
  selinuxType: "SPC",
  apparmorProfile: "None",
  logLevel: "loud",
};
