{{- /* Written from tools/install/values-schema.ts by npm run docs. */}}
{{- define "global-pull-secret.roles" -}}
{
  "crds": {"named":"roles Fleet, SyncManagement and SyncTenant","roles":["Fleet","SyncManagement","SyncTenant"],"default":{"install":true}},
  "policy": {"named":"role Cluster","roles":["Cluster"],"default":{}},
  "original": {"named":"role Cluster","roles":["Cluster"],"default":""},
  "extraSources": {"named":"role Cluster","roles":["Cluster"],"default":[]},
  "flags": {"named":"roles Cluster and Hosted","roles":["Cluster","Hosted"],"default":{}},
  "bounds": {"named":"role Cluster","roles":["Cluster"],"default":{"enabled":true}},
  "networkPolicy": {"named":"role Cluster","roles":["Cluster"],"default":{"enabled":false,"apiServerPorts":[443,6443]}},
  "admission": {"named":"role Cluster","roles":["Cluster"],"default":{"enabled":false}},
  "annotated": {"named":"role Cluster","roles":["Cluster"],"default":{"enabled":false}},
  "hosted": {"named":"role Hosted","roles":["Hosted"],"default":{"original":"pull-secret","kubeconfig":{"secret":"admin-kubeconfig","key":"kubeconfig"}}},
  "fleet": {"named":"role Fleet","roles":["Fleet"],"default":{"sources":["source-pull-secret"],"clusterResourceSet":false}},
  "syncTenant": {"named":"role SyncTenant","roles":["SyncTenant"],"default":{"managementNamespace":""}},
  "uninstall": {"named":"role Cluster","roles":["Cluster"],"default":{"withdraw":true,"timeout":"4m"}}
}
{{- end }}
