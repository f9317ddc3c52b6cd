{{- define "lango.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "lango.fullname" -}}
{{- $name := include "lango.name" . }}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- /* The name of a sub-agent's objects. In: list of the root and the name of the agent. */ -}}
{{- define "lango.subAgent" -}}
{{- printf "%s-%s" (include "lango.fullname" (first .)) (last .) }}
{{- end }}

{{- define "lango.selector" -}}
app.kubernetes.io/name: {{ include "lango.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* The labels of pods: none changes with the chart alone, which would start them again. */ -}}
{{- define "lango.podLabels" -}}
{{ include "lango.selector" . }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "lango.labels" -}}
{{ include "lango.podLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "lango.image" -}}
{{- $image := (first .).Values.image }}
{{- $tag := default (first .).Chart.AppVersion $image.tag }}
{{- with $image.registry }}{{ . }}/{{ end }}{{ last . }}:{{ $tag }}
{{- end }}

{{- define "lango.scheme" -}}
{{ ternary "https" "http" .Values.tls.enabled }}
{{- end }}

{{- define "lango.tlsSecret" -}}
{{- default (printf "%s-tls" (include "lango.fullname" .)) .Values.tls.existingSecret }}
{{- end }}

{{- define "lango.url" -}}
{{- printf "%s://%s:%v" (include "lango.scheme" (first .)) (last .) (first .).Values.service.port }}
{{- end }}

{{- define "lango.isReplicated" -}}
{{- if ne .Values.shape "single" }}true{{ end }}
{{- end }}
{{- define "lango.isStack" -}}
{{- if eq .Values.shape "stack" }}true{{ end }}
{{- end }}
