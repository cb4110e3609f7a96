/** Paths in the API server of the objects that the controller writes. */

export const system = "/namespaces/kube-system";
export const paths = {
  secrets: `/api/v1${system}/secrets`,
  additional: `/api/v1${system}/secrets/additional-pull-secret`,
  state: `/api/v1${system}/secrets/global-pull-secret-state`,
  global: `/api/v1${system}/secrets/global-pull-secret`,
  daemonSet: `/apis/apps/v1${system}/daemonsets/global-pull-secret-syncer`,
  serviceAccount: `/api/v1${system}/serviceaccounts/global-pull-secret-syncer`,
  role: `/apis/rbac.authorization.k8s.io/v1${system}/roles/global-pull-secret-syncer`,
  roleBinding: `/apis/rbac.authorization.k8s.io/v1${system}/rolebindings/global-pull-secret-syncer`,
};
export const ownPaths = [
  paths.state,
  paths.global,
  paths.serviceAccount,
  paths.role,
  paths.roleBinding,
  paths.daemonSet,
];
