import type { Container, Manifest, PodSpec, Selector, Volume, Workload } from './kit.js';
import { secretItems, workloadsOf } from './kit.js';

interface Port {
  readonly port: number | string;
  readonly name?: string;
  readonly targetPort?: string;
}

interface Peer {
  readonly podSelector?: Selector;
  readonly namespaceSelector?: Selector;
}

interface Rule {
  readonly from?: readonly Peer[];
  readonly to?: readonly Peer[];
  readonly ports?: readonly Port[];
}

/** The references of a manifest to objects that do not exist: config maps, secrets, claims, ports, pods. */
export function referenceFindings(manifests: readonly Manifest[]): readonly string[] {
  const workloads = workloadsOf(manifests);
  return [
    ...workloads.flatMap((one) => ofWorkload(one, manifests).map((text) => `${one.name}: ${text}`)),
    ...manifests.flatMap((one) =>
      ofOthers(one, manifests, workloads).map((text) => `${one.kind} ${one.metadata.name}: ${text}`),
    ),
    ...manifests
      .filter(({ kind, metadata }) => kind !== 'Namespace' && metadata.namespace !== 'lango')
      .map(({ kind, metadata }) => `${kind} ${metadata.name} is in no namespace`),
  ];
}

function ofWorkload({ labels, selector, pod }: Workload, manifests: readonly Manifest[]): readonly string[] {
  const names = new Set(pod.volumes.map(({ name }) => name));
  const own = [selector, ...(pod.topologySpreadConstraints ?? []).map((one) => one.labelSelector)];
  return [
    ...own
      .filter((one) => one !== undefined && !selects(one, labels))
      .map((one) => `${JSON.stringify(one)} is not of its pods`),
    ...pod.volumes.flatMap((volume) => ofVolume(volume, manifests)),
    ...containersOf(pod).flatMap((container) => [
      ...(container.volumeMounts ?? [])
        .filter(({ name }) => !names.has(name))
        .map(({ name }) => `there is no volume ${name}`),
      ...probesOf(container)
        .filter((port) => !hasPort(container, port))
        .map((port) => `there is no port ${port} for a probe`),
    ]),
  ];
}

function ofVolume(volume: Volume, manifests: readonly Manifest[]) {
  const { configMap, secret, persistentVolumeClaim } = volume;
  const find = (kind: string, name: string) =>
    manifests.find((one) => one.kind === kind && one.metadata.name === name);
  const missing: string[] = [];
  if (configMap && !find('ConfigMap', configMap.name)) missing.push(`ConfigMap ${configMap.name}`);
  if (persistentVolumeClaim && !find('PersistentVolumeClaim', persistentVolumeClaim.claimName))
    missing.push(`PersistentVolumeClaim ${persistentVolumeClaim.claimName}`);
  if (secret && !secret.items && !find('Secret', secret.secretName))
    missing.push(`Secret ${secret.secretName}`);
  for (const { name, key } of secretItems(volume)) {
    const kept = find('Secret', name);
    if (!kept) missing.push(`Secret ${name}`);
    else if (kept.data?.[key] === undefined) missing.push(`key ${key} in Secret ${name}`);
  }
  return missing.map((what) => `there is no ${what}`);
}

function ofOthers(
  { kind, metadata, spec = {} }: Manifest,
  manifests: readonly Manifest[],
  workloads: readonly Workload[],
): readonly string[] {
  const podsOf = (selector: Selector) => workloads.filter(({ labels }) => selects(selector, labels));
  const nobody = (selector: Selector) =>
    podsOf(selector).length === 0 ? [`no pod has ${JSON.stringify(selector)}`] : [];
  const without = (selector: Selector, ports: readonly (string | number)[]) =>
    podsOf(selector)
      .filter(({ isServer }) => isServer)
      .flatMap(({ name, pod }) =>
        ports
          .filter((port) => !hasPort(pod.containers[0], port))
          .map((port) => `${name} has no port ${port}`),
      );
  if (kind === 'Service') {
    const { selector, ports } = spec as { selector: Readonly<Record<string, string>>; ports: Port[] };
    const labels = { matchLabels: selector };
    return [
      ...nobody(labels),
      ...without(
        labels,
        ports.map(({ port, targetPort }) => targetPort ?? port),
      ),
    ];
  }
  if (kind === 'NetworkPolicy') {
    const {
      podSelector,
      ingress = [],
      egress = [],
    } = spec as {
      podSelector: Selector;
      ingress?: readonly Rule[];
      egress?: readonly Rule[];
    };
    // Pods of other namespaces are not in the manifests.
    const peers = [...ingress, ...egress]
      .flatMap(({ from = [], to = [] }) => [...from, ...to])
      .filter(({ namespaceSelector }) => namespaceSelector === undefined);
    return [
      ...[podSelector, ...peers.flatMap((peer) => peer.podSelector ?? [])].flatMap(nobody),
      ...without(
        podSelector,
        ingress.flatMap(({ ports = [] }) => ports.map(({ port }) => port)),
      ),
    ];
  }
  if (kind === 'PodDisruptionBudget') return nobody(spec['selector'] as Selector);
  if (kind === 'HorizontalPodAutoscaler') {
    const target = spec['scaleTargetRef'] as { kind: string; name: string };
    const found = manifests.find((one) => one.kind === target.kind && one.metadata.name === target.name);
    if (!found) return [`there is no ${target.kind} ${target.name}`];
    return found.spec?.['replicas'] === undefined ? [] : ['its target has a number of replicas of its own'];
  }
  if (kind === 'ServiceMonitor') return ofMonitor(spec, manifests);
  const expected = ['ConfigMap', 'Deployment', 'Job', 'Namespace', 'PersistentVolumeClaim', 'Pod', 'Secret'];
  return expected.includes(kind) ? [] : [`the test does not know what a ${kind} of ${metadata.name} names`];
}

function ofMonitor(spec: NonNullable<Manifest['spec']>, manifests: readonly Manifest[]): readonly string[] {
  const { selector, endpoints } = spec as {
    selector: Selector;
    endpoints: { port: string; authorization: { credentials: { name: string; key: string } } }[];
  };
  const services = manifests.filter(
    ({ kind, metadata }) => kind === 'Service' && selects(selector, metadata.labels ?? {}),
  );
  if (services.length === 0) return [`no Service has ${JSON.stringify(selector)}`];
  return endpoints.flatMap(({ port, authorization: { credentials } }) => [
    ...services
      .filter((one) => !(one.spec!['ports'] as Port[]).some(({ name }) => name === port))
      .map((one) => `the Service ${one.metadata.name} has no port ${port}`),
    ...ofVolume(
      {
        name: 'credentials',
        secret: { secretName: credentials.name, items: [{ key: credentials.key, path: '' }] },
      },
      manifests,
    ),
  ]);
}

/** The addresses that lead to no Service of the manifests. */
export function addressFindings(urls: readonly string[], manifests: readonly Manifest[]): readonly string[] {
  return urls
    .map((url) => new URL(url))
    .filter(({ hostname, port }) => {
      const service = manifests.find((one) => one.kind === 'Service' && one.metadata.name === hostname);
      const ports = (service?.spec?.['ports'] ?? []) as readonly Port[];
      return !ports.some((one) => String(one.port) === port);
    })
    .map(({ host }) => `no Service answers at ${host}`);
}

export function containersOf({ containers, initContainers = [] }: PodSpec): readonly Container[] {
  return [...initContainers, ...containers];
}

function probesOf({ startupProbe, livenessProbe, readinessProbe }: Container): readonly (string | number)[] {
  return [startupProbe, livenessProbe, readinessProbe].flatMap((probe) => probe?.httpGet.port ?? []);
}

function hasPort({ ports = [] }: Container, port: string | number): boolean {
  return ports.some(({ name, containerPort }) => name === port || containerPort === port);
}

function selects({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Workload['labels']): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(
      ({ key, operator, values = [] }) => operator === 'In' && values.includes(labels[key] ?? ''),
    )
  );
}
