{{/* All charts of a release share the names of templates, so each name begins with the name of this chart. */}}

{{/* The program that the role runs: the name of a file in the image, without its extension. */}}
{{- define "global-pull-secret.program" -}}
{{ dict "Cluster" "controller" "Hosted" "controller" "Fleet" "fleet" "SyncManagement" "sync-management" "SyncTenant" "sync-tenant" | dig .Values.role "" }}
{{- end }}

{{/* The name of the Deployment, its account and its Lease. */}}
{{- define "global-pull-secret.name" -}}
global-pull-secret-{{ include "global-pull-secret.program" . }}
{{- end }}

{{/* Labels of every object. Selectors do not use them, because selectors may not change in an upgrade. */}}
{{- define "global-pull-secret.labels" -}}
app.kubernetes.io/name: {{ include "global-pull-secret.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: global-pull-secret
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "global-pull-secret.namespace" -}}
{{ eq .Values.role "Hosted" | ternary .Release.Namespace "kube-system" }}
{{- end }}

{{/*
Binds the role with this name to the account of the release's program. Takes a dict: root, name, and
for a Role its namespace; without a namespace, it binds a ClusterRole.
*/}}
{{- define "global-pull-secret.binding" -}}
{{- $kind := empty .namespace | ternary "ClusterRole" "Role" }}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "global-pull-secret.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $kind }}
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "global-pull-secret.name" .root }}
    namespace: {{ include "global-pull-secret.namespace" .root }}
{{- end }}

{{- define "global-pull-secret.image" -}}
{{- with .Values.image }}
{{- .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* The image that the agents run: the flag's image if it is set, otherwise the controller's image, with its digest if it has one. */}}
{{- define "global-pull-secret.agentImage" -}}
{{- (.Values.flags | default dict).agentImage | default (include "global-pull-secret.image" .) }}
{{- end }}

{{/* A flag for each value: camelCase as kebab-case, a list as one flag for each item. */}}
{{- define "global-pull-secret.args" -}}
{{- if eq .Values.role "Hosted" }}
- --namespace=$(POD_NAMESPACE)
- --original=$(POD_NAMESPACE)/{{ .Values.hosted.original }}
- --guest-kubeconfig=/etc/guest/kubeconfig
{{- else if eq .Values.role "SyncTenant" }}
- --management-kubeconfig=/management/kubeconfig
- --management-namespace={{ .Values.syncTenant.managementNamespace }}
{{- with .Values.syncTenant.removalDeadline }}
- --removal-deadline={{ . }}
{{- end }}
{{- else }}
{{- with .Values.original }}
- --original={{ . }}
{{- end }}
{{- end }}
{{- range $name, $value := .Values.flags }}
{{- range $one := kindIs "slice" $value | ternary $value (list $value) }}
- {{ printf "--%s=%v" (kebabcase $name) $one | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* The nodes and the user for every pod of this chart. */}}
{{- define "global-pull-secret.pod" -}}
{{- $hosted := eq .Values.role "Hosted" }}
{{- $own := .Values.controller }}
{{- with hasKey $own "priorityClassName" | ternary $own.priorityClassName ($hosted | ternary "" "system-cluster-critical") }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- with .Values.controller.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- /* A cluster whose nodes wait for credentials may have only control plane nodes yet. */}}
{{- $first := list (dict "key" "node-role.kubernetes.io/control-plane" "operator" "Exists" "effect" "NoSchedule") (dict "key" "CriticalAddonsOnly" "operator" "Exists") }}
{{- with hasKey $own "tolerations" | ternary $own.tolerations ($hosted | ternary list $first) }}
tolerations: {{ toJson . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  {{- if $hosted }}
  # Only this group can read the guest's kubeconfig.
  fsGroup: 65532
  {{- end }}
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "global-pull-secret.container" -}}
image: {{ include "global-pull-secret.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{/*
A hook: a Job that runs a command of the plugin, and the Job's account. Each Job has a separate
account, because Argo CD 3.3.0 does not create an account that two hooks share a second time. Takes a
dict: root, name, when, seconds (for the Job), verbs (on GlobalPullSecret or on all of resource),
command (words), and lease: whether the Job reads the program's Lease. Each Job runs once. Its time to live is for
tools that do not delete hooks.
*/}}
{{- define "global-pull-secret.hook" -}}
{{- $name := printf "global-pull-secret-%s" .name }}
{{- $plugin := list "/nodejs/bin/node" "/app/plugin.cjs" }}
{{- $annotations := dict "helm.sh/hook" .when "helm.sh/hook-delete-policy" "before-hook-creation,hook-succeeded" }}
{{- $first := merge (dict "helm.sh/hook-weight" "-1") $annotations }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $name }}
  namespace: kube-system
  labels:
    {{- include "global-pull-secret.labels" .root | nindent 4 }}
  annotations: {{ toJson $first }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $name }}
  labels:
    {{- include "global-pull-secret.labels" .root | nindent 4 }}
  annotations: {{ toJson $first }}
rules:
  - apiGroups: [globalpullsecret.io]
    resources: [{{ .resource | default "globalpullsecrets" }}]
    {{- if not .resource }}
    resourceNames: [cluster]
    {{- end }}
    verbs: {{ toJson .verbs }}
  {{- if .lease }}
  # To check whether this release has installed the controller, and whether it runs.
  - apiGroups: [apps]
    resources: [deployments]
    resourceNames: [{{ include "global-pull-secret.name" .root }}]
    verbs: [get]
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    resourceNames: [{{ include "global-pull-secret.name" .root }}]
    verbs: [get]
  {{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $name }}
  labels:
    {{- include "global-pull-secret.labels" .root | nindent 4 }}
  annotations: {{ toJson $first }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $name }}
subjects:
  - kind: ServiceAccount
    name: {{ $name }}
    namespace: kube-system
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ $name }}
  namespace: kube-system
  labels:
    {{- include "global-pull-secret.labels" .root | nindent 4 }}
  annotations: {{ toJson $annotations }}
spec:
  backoffLimit: 0
  activeDeadlineSeconds: {{ .seconds }}
  ttlSecondsAfterFinished: 3600
  template:
    metadata:
      labels:
        app.kubernetes.io/name: {{ $name }}
        {{- with .root.Values.controller.podLabels }}
        {{- include "global-pull-secret.strings" . | fromJson | toYaml | nindent 8 }}
        {{- end }}
      {{- with .root.Values.controller.podAnnotations }}
      annotations: {{ include "global-pull-secret.strings" . }}
      {{- end }}
    spec:
      serviceAccountName: {{ $name }}
      restartPolicy: Never
      {{- include "global-pull-secret.pod" .root | trim | nindent 6 }}
      containers:
        - name: {{ .name }}
          {{- include "global-pull-secret.container" .root | nindent 10 }}
          command: {{ concat $plugin .command | toJson }}
          # With this, kubectl describe shows the last line of the log as the reason.
          terminationMessagePolicy: FallbackToLogsOnError
          resources: {{ toJson .root.Values.controller.resources }}
{{- end }}

{{/* Seconds of a duration such as 4m or 1h30m. */}}
{{- define "global-pull-secret.seconds" -}}
{{- $seconds := 0 }}
{{- range regexFindAll "[0-9]+[smh]" . -1 }}
{{- $unit := dict "s" 1 "m" 60 "h" 3600 | dig (regexFind "[smh]$" .) 1 }}
{{- $seconds = add $seconds (mul (regexFind "^[0-9]+" .) $unit) }}
{{- end }}
{{- $seconds }}
{{- end }}

{{/* The paths of the values that differ from their default, one per line. The input is a list: path, value, default. */}}
{{- define "global-pull-secret.changed" -}}
{{- $path := index . 0 }}
{{- $value := index . 1 }}
{{- $default := index . 2 }}
{{- if kindIs "map" $value }}
{{- range $key, $one := $value }}
{{- $at := printf "%s.%s" $path $key }}
{{- if hasKey $default $key }}
{{- include "global-pull-secret.changed" (list $at $one (get $default $key)) }}
{{- else }}
{{- println $at }}
{{- end }}
{{- end }}
{{- else if ne (toJson $value) (toJson $default) }}
{{- println $path }}
{{- end }}
{{- end }}

{{- /* A map with its values as strings, as JSON: --set makes numbers and booleans of some. */}}
{{- define "global-pull-secret.strings" -}}
{{- $texts := dict }}
{{- range $key, $value := . }}{{- $_ := set $texts $key (toString $value) }}{{- end }}
{{- toJson $texts }}
{{- end }}
