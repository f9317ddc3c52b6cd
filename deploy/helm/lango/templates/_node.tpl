{{- /* A key of a Secret as a source of a projected volume. In: dict root, from (name and key), path. */ -}}
{{- define "lango.secretSource" -}}
- secret:
    name: {{ default (include "lango.secretName" .root) .from.name }}
    items: [{ key: {{ .from.key }}, path: {{ .path }} }]
{{- end }}
{{- define "lango.secretName" -}}
{{- default (include "lango.fullname" .) .Values.existingSecret }}
{{- end }}

{{- define "lango.rights" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "lango.podRights" -}}
automountServiceAccountToken: false
# Kubernetes would set LANGO_PORT and others for its Services, and Lango would read them.
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext: {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- end }}

{{- define "lango.serviceAccount" -}}
{{- $account := .Values.serviceAccount }}
{{- with default (ternary (include "lango.fullname" .) "" $account.create) $account.name }}
serviceAccountName: {{ . }}
{{- end }}
{{- end }}

{{- /* The machines that a pod may have, and its weight there. In: the values of a node. */ -}}
{{- define "lango.placement" -}}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "lango.databaseEnv" -}}
- { name: LANGO_DATABASE_URL_FILE, value: /run/secrets/lango/database-url }
{{- if .Values.database.caSecret.name }}
- { name: LANGO_DATABASE_CA, value: /run/database-ca/ca.crt }
{{- end }}
{{- end }}
{{- define "lango.databaseCaMount" -}}
- { name: database-ca, mountPath: /run/database-ca, readOnly: true }
{{- end }}
{{- define "lango.databaseCaVolume" -}}
{{- with .Values.database.caSecret -}}
- { name: database-ca, secret: { secretName: {{ .name }}, items: [{ key: {{ .key }}, path: ca.crt }] } }
{{- end }}
{{- end }}

{{- /*
A node as a Deployment, its Service, and its claim.
In: dict root, name (of its objects), component, file (its configuration), full (which image), node (its values),
secrets (by their path in the pod), env (further variables), replicated.
*/ -}}
{{- define "lango.node" -}}
{{- $root := .root }}
{{- $values := $root.Values }}
{{- $node := mergeOverwrite (deepCopy $values.defaults) (deepCopy .node) }}
{{- $isFront := eq .component "front" }}
{{- $secrets := .secrets }}
{{- if $values.metrics.enabled }}{{ $secrets = set $secrets "metrics-token" $values.secrets.metricsToken }}{{ end }}
{{- range $name, $from := $values.modelKeys }}{{ $secrets = set $secrets $name $from }}{{ end }}
{{- $image := include "lango.image" (list $root (ternary $values.image.fullRepository $values.image.repository .full)) }}
{{- $labels := dict "app.kubernetes.io/component" .component }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .name }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "lango.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
  {{- with $node.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  selector:
    matchLabels: {{- include "lango.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ .component }}
  {{- if not .replicated }}
  # One process has the database.
  replicas: 1
  strategy: { type: Recreate }
  {{- else }}
  {{- if not $values.autoscaling.enabled }}
  replicas: {{ $node.replicas }}
  {{- end }}
  {{- if eq $values.upgradeStrategy "Recreate" }}
  strategy: { type: Recreate }
  {{- else }}
  strategy:
    type: RollingUpdate
    rollingUpdate: { maxUnavailable: 0, maxSurge: 1 }
  {{- end }}
  {{- end }}
  template:
    metadata:
      labels: {{- include "lango.podLabels" $root | nindent 8 }}
        app.kubernetes.io/component: {{ .component }}
        {{- with $node.podLabels }}{{ toYaml . | nindent 8 }}{{ end }}
      annotations:
        checksum/config: {{ include "lango.config" (dict "root" $root "file" .file) | sha256sum }}
        {{- with $node.podAnnotations }}{{ toYaml . | nindent 8 }}{{ end }}
    spec:
      {{- include "lango.podRights" $root | nindent 6 }}
      {{- if $node.sandboxProc }}
      hostUsers: false
      {{- end }}
      terminationGracePeriodSeconds: {{ $node.terminationGracePeriodSeconds }}
      {{- include "lango.serviceAccount" $root | nindent 6 }}
      {{- include "lango.placement" $node | nindent 6 }}
      {{- if $node.topologySpreadConstraints }}
      topologySpreadConstraints: {{- toYaml $node.topologySpreadConstraints | nindent 8 }}
      {{- else if .replicated }}
      topologySpreadConstraints:
        {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
        - topologyKey: {{ . }}
          maxSkew: 1
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {{- include "lango.selector" $root | nindent 14 }}
              app.kubernetes.io/component: front
          matchLabelKeys: [pod-template-hash]
        {{- end }}
      {{- end }}
      {{- if or $node.initContainers .replicated }}
      initContainers:
        {{- with $node.initContainers }}{{ toYaml . | nindent 8 }}{{ end }}
        {{- if .replicated }}
        # All replicas sign with the same keys. Lango reads a file of keys only when nobody else can.
        - name: keys
          image: {{ $image }}
          imagePullPolicy: {{ $values.image.pullPolicy }}
          command: [install, --mode=600, /run/secrets/lango/keys.json, /data/keys.json]
          securityContext: {{- include "lango.rights" $root | nindent 12 }}
          resources:
            requests: { cpu: 10m, memory: 32Mi }
            limits: { memory: 64Mi }
          volumeMounts:
            - { name: data, mountPath: /data }
            - { name: secrets, mountPath: /run/secrets/lango, readOnly: true }
        {{- end }}
      {{- end }}
      containers:
        - name: lango
          image: {{ $image }}
          imagePullPolicy: {{ $values.image.pullPolicy }}
          env:
            - { name: LANGO_CONFIG, value: /etc/lango/{{ .file }} }
            - { name: LANGO_NAMESPACE, valueFrom: { fieldRef: { fieldPath: metadata.namespace } } }
            - { name: LANGO_SERVICE, value: {{ .name }} }
            {{- if .replicated }}
            {{- include "lango.databaseEnv" $root | nindent 12 }}
            {{- end }}
            {{- range $path, $from := $secrets }}
            {{- $variable := get (dict "token" "LANGO_TOKEN" "vault-passphrase" "LANGO_VAULT_PASSPHRASE" "metrics-token" "LANGO_METRICS_TOKEN") $path | default $path }}
            {{- if not (has $path (list "database-url" "keys.json")) }}
            - { name: {{ $variable }}_FILE, value: /run/secrets/lango/{{ $path }} }
            {{- end }}
            {{- end }}
            {{- if $values.metrics.enabled }}
            - { name: LANGO_METRICS, value: 'true' }
            {{- end }}
            {{- if $values.tls.enabled }}
            - { name: LANGO_TLS, value: /run/tls }
            - { name: NODE_EXTRA_CA_CERTS, value: /run/tls/ca.crt }
            {{- end }}
            {{- range .env }}
            - { name: {{ .name }}, value: {{ .value | quote }} }
            {{- end }}
            {{- with $node.extraEnv }}{{ toYaml . | nindent 12 }}{{ end }}
          {{- with $node.extraEnvFrom }}
          envFrom: {{- toYaml . | nindent 12 }}
          {{- end }}
          ports: [{ name: http, containerPort: 4100 }]
          {{- $scheme := include "lango.scheme" $root | upper }}
          startupProbe:
            httpGet: { path: /healthz, port: http, scheme: {{ $scheme }} }
            periodSeconds: 2
            failureThreshold: 60
          livenessProbe:
            httpGet: { path: /healthz, port: http, scheme: {{ $scheme }} }
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet: { path: /readyz, port: http, scheme: {{ $scheme }} }
            periodSeconds: 2
            timeoutSeconds: 2
            failureThreshold: 2
          {{- if .replicated }}
          lifecycle:
            # The Service stops sending requests here before they are refused.
            preStop: { sleep: { seconds: 5 } }
          {{- end }}
          securityContext: {{- include "lango.rights" $root | nindent 12 }}
            {{- if $node.sandbox }}
            # bubblewrap and Chromium's sandbox make user namespaces. The profiles of container runtimes refuse that.
            seccompProfile: { type: Unconfined }
            appArmorProfile: { type: Unconfined }
            {{- end }}
            {{- if $node.sandboxProc }}
            procMount: Unmasked
            {{- end }}
          resources: {{- toYaml (ternary $node.sandboxResources $node.resources $node.sandbox) | nindent 12 }}
          volumeMounts:
            - { name: data, mountPath: /data }
            - { name: tmp, mountPath: /tmp }
            - { name: config, mountPath: /etc/lango, readOnly: true }
            {{- if $secrets }}
            - { name: secrets, mountPath: /run/secrets/lango, readOnly: true }
            {{- end }}
            {{- if $node.sandbox }}
            - { name: shm, mountPath: /dev/shm }
            {{- end }}
            {{- if $values.tls.enabled }}
            - { name: tls, mountPath: /run/tls, readOnly: true }
            {{- end }}
            {{- if and .replicated $values.database.caSecret.name }}
            {{- include "lango.databaseCaMount" $root | nindent 12 }}
            {{- end }}
            {{- if eq $values.shape "replicas" }}
            - { name: files, mountPath: /data/workspace, subPath: workspace }
            - { name: files, mountPath: /data/owners, subPath: owners }
            {{- end }}
            {{- with $node.extraVolumeMounts }}{{ toYaml . | nindent 12 }}{{ end }}
      volumes:
        {{- $claim := default .name $node.persistence.existingClaim }}
        {{- if .replicated }}
        - { name: data, emptyDir: { sizeLimit: 1Gi } }
        {{- if eq $values.shape "replicas" }}
        - { name: files, persistentVolumeClaim: { claimName: {{ default (printf "%s-files" .name) $node.persistence.existingClaim }} } }
        {{- end }}
        {{- if $values.database.caSecret.name }}
        {{- include "lango.databaseCaVolume" $root | nindent 8 }}
        {{- end }}
        {{- else }}
        - { name: data, persistentVolumeClaim: { claimName: {{ $claim }} } }
        {{- end }}
        - { name: tmp, emptyDir: { sizeLimit: 1Gi } }
        - { name: config, configMap: { name: {{ include "lango.fullname" $root }} } }
        {{- if $node.sandbox }}
        - { name: shm, emptyDir: { medium: Memory, sizeLimit: 256Mi } }
        {{- end }}
        {{- if $values.tls.enabled }}
        - name: tls
          secret:
            secretName: {{ include "lango.tlsSecret" $root }}
            defaultMode: 0440
            items: [{ key: tls.crt, path: tls.crt }, { key: tls.key, path: tls.key }, { key: ca.crt, path: ca.crt }]
        {{- end }}
        {{- if $secrets }}
        - name: secrets
          projected:
            # For the group of the pod (fsGroup).
            defaultMode: 0440
            sources:
              {{- range $path, $from := $secrets }}
              {{- include "lango.secretSource" (dict "root" $root "from" $from "path" $path) | nindent 14 }}
              {{- end }}
        {{- end }}
        {{- with $node.extraVolumes }}{{ toYaml . | nindent 8 }}{{ end }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ .name }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "lango.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
  {{- if $isFront }}{{ with $values.service.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}{{ end }}
spec:
  type: {{ ternary $values.service.type "ClusterIP" $isFront }}
  selector: {{- include "lango.selector" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
  ports: [{ name: http, port: {{ $values.service.port }}, targetPort: http }]
  {{- if $isFront }}{{ with $values.service.spec }}{{ toYaml . | nindent 2 }}{{ end }}{{ end }}
{{- if and (not $node.persistence.existingClaim) (or (not .replicated) (eq $values.shape "replicas")) }}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {{ .name }}{{ if .replicated }}-files{{ end }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "lango.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
  annotations:
    # Data outlives the release and a change of the shape.
    helm.sh/resource-policy: keep
    {{- with $node.persistence.annotations }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
  # All replicas write the files of agents.
  accessModes: [{{ ternary "ReadWriteMany" "ReadWriteOnce" .replicated }}]
  {{- with $node.persistence.storageClass }}
  storageClassName: {{ . }}
  {{- end }}
  resources: { requests: { storage: {{ $node.persistence.size }} } }
{{- end }}
{{- end }}
