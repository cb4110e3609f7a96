{{- define "image" -}}
{{- with .Values.image }}
{{- .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* A flag for each value: camelCase as kebab-case, a list as one flag for each item. */}}
{{- define "args" -}}
{{- with .Values.original }}
- --original={{ . }}
{{- end }}
{{- range $name, $value := .Values.flags }}
{{- range $one := kindIs "slice" $value | ternary $value (list $value) }}
- {{ printf "--%s=%v" (kebabcase $name) $one | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* Where every pod of this chart may run, and as whom. */}}
{{- define "pod" -}}
{{- with .Values.controller.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- with .Values.controller.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .Values.controller.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "container" -}}
image: {{ include "image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}
