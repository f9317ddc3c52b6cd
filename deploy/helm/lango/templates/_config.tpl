{{- /* A node's configuration: its file in nodes/, what the chart knows, and .Values.config. In: dict root, file. */ -}}
{{- define "lango.config" -}}
{{- $values := .root.Values }}
{{- $config := .root.Files.Get (printf "nodes/%s" .file) | fromYaml }}
{{- $service := "${LANGO_SERVICE}" }}
{{- $namespaced := printf "%s.${LANGO_NAMESPACE}" $service }}
{{- $full := printf "%s.svc.%s" $namespaced $values.clusterDomain }}
{{- $server := dict "allowedHosts" (concat (list $service $namespaced (printf "%s.svc" $namespaced) $full) $values.allowedHosts) }}
{{- if $values.tls.enabled }}
{{- $server = merge $server (dict "allowRisks" list "tls" (dict "certFile" "${LANGO_TLS}/tls.crt" "keyFile" "${LANGO_TLS}/tls.key")) }}
{{- end }}
{{- $config = mergeOverwrite $config (dict "server" $server) }}
{{- if eq .file "orchestrator.yaml" }}
{{- $agents := list }}
{{- range $config.a2a.remoteAgents }}
{{- if (get $values.subAgents .name).enabled }}{{ $agents = append $agents . }}{{ end }}
{{- end }}
{{- $_ := set $config.a2a "remoteAgents" $agents }}
{{- end }}
{{- $own := ternary $values.config.subAgents $values.config.front (eq .file "sub-agent.yaml") }}
{{- mergeOverwrite $config (deepCopy $own) | toYaml }}
{{- end }}
