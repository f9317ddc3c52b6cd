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
{{- /* What a sub-agent keeps is kept nowhere when it is switched off. */ -}}
{{- range $agent, $one := $values.subAgents }}
{{- range $kind, $at := (deepCopy ($config.a2a.keptAt | default dict)) }}
{{- if and (not $one.enabled) (contains (printf "${%s_URL" (upper $agent)) $at.url) }}
{{- $_ := unset $config.a2a.keptAt $kind }}
{{- end }}
{{- end }}
{{- end }}
{{- $own := ternary $values.config.subAgents $values.config.front (eq .file "sub-agent.yaml") }}
{{- mergeOverwrite $config (deepCopy $own) | toYaml }}
{{- end }}
