{{/* Names of templates are shared by all charts of a release: each begins with this chart's. */}}

{{/* Of the Deployment, its account and its Lease. */}}
{{- define "global-pull-secret.name" -}}
global-pull-secret-{{ eq .Values.role "Fleet" | ternary "fleet" "controller" }}
{{- end }}

{{- define "global-pull-secret.namespace" -}}
{{ eq .Values.role "Hosted" | ternary .Release.Namespace "kube-system" }}
{{- end }}

{{- define "global-pull-secret.image" -}}
{{- with .Values.image }}
{{- .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* What the agents run: by a digest of it as well, unless a flag names it. */}}
{{- define "global-pull-secret.agentImage" -}}
{{- (.Values.flags | default dict).agentImage | default (include "global-pull-secret.image" .) }}
{{- end }}

{{/* A flag for each value: camelCase as kebab-case, a list as one flag for each item. */}}
{{- define "global-pull-secret.args" -}}
{{- if eq .Values.role "Hosted" }}
- --namespace=$(POD_NAMESPACE)
- --original=$(POD_NAMESPACE)/{{ .Values.hosted.original }}
- --guest-kubeconfig=/etc/guest/kubeconfig
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

{{/* Where every pod of this chart may run, and as whom. */}}
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
{{- /* A cluster whose nodes wait for credentials may have no node but those of its control plane yet. */}}
{{- $first := list (dict "key" "node-role.kubernetes.io/control-plane" "operator" "Exists" "effect" "NoSchedule") (dict "key" "CriticalAddonsOnly" "operator" "Exists") }}
{{- with hasKey $own "tolerations" | ternary $own.tolerations ($hosted | ternary list $first) }}
tolerations: {{ toJson . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  {{- if $hosted }}
  # The guest's kubeconfig is readable for this group alone.
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

{{/* Paths of the values that differ from their default, one a line. Of a list: path, value, default. */}}
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
