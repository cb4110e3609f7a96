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
{{- $own := eq .Values.role "Hosted" | ternary .Values.hosted .Values.controller }}
{{- with $own.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- with .Values.controller.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with $own.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  {{- if eq .Values.role "Hosted" }}
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
