import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { packageRoot } from '../../src/config/package-root.js';
import type { Release } from './cluster.js';

/** An autoscaler by waiting tasks: KEDA, a Prometheus that reads the metrics of a release, and agents with a slow model. */

const run = promisify(execFile);
/** The place of KEDA's manifests, as `keda/build` makes them. */
const KEDA = path.join(tmpdir(), 'lango-lab-keda');
export const WAITING_IMAGES = ['lango-lab-keda:2.21.0', 'lango-lab-prometheus:1'] as const;
const [, PROMETHEUS_IMAGE] = WAITING_IMAGES;
const MOST_REPLICAS = 3;
const TASKS_PER_REPLICA = 8;
const SAMPLE_MS = 10_000;

/** Builds the images that the machines of the cluster need. */
export async function buildWaiting(): Promise<void> {
  const lab = path.join(packageRoot(), 'lab/kubernetes');
  await run(path.join(lab, 'keda/build'), [KEDA], { maxBuffer: 1e8 });
  await run('docker', [
    ...['build', '--network', 'host', '--tag', PROMETHEUS_IMAGE, path.join(lab, 'prometheus')],
  ]);
}

/** Lets one replica with the slow model wait for more. */
export async function prepareWaiting(release: Release): Promise<void> {
  await installKeda();
  await addModel(release);
  await addPrometheus(release);
  // Before the autoscaler begins: it keeps what it finds for five minutes.
  await release.kubectl('scale', 'deployment/lango', '--replicas=1');
  await release.upgrade({
    autoscaling: {
      enabled: true,
      minReplicas: 1,
      maxReplicas: MOST_REPLICAS,
      keda: {
        enabled: true,
        prometheusUrl: `http://prometheus.${release.namespace}:9090`,
        tasksPerReplica: TASKS_PER_REPLICA,
      },
    },
    metrics: { enabled: true },
    networkPolicy: {
      extraEgress: [
        { to: [{ podSelector: { matchLabels: { app: 'slow-model' } } }], ports: [{ port: 4300 }] },
      ],
    },
    config: {
      front: {
        agent: {
          models: {
            'lango-orchestrator': {
              ...{ provider: 'openai', api: 'chat', name: 'slow', baseUrl: 'http://slow-model:4300/v1' },
            },
          },
        },
        server: { limits: { concurrentRuns: TASKS_PER_REPLICA } },
      },
    },
  });
  await release.kubectl('wait', 'scaledobject/lango', '--for=condition=Ready', '--timeout=120s');
  await release.untilReplicas(1);
}

/** Waits until the autoscaler has made as many replicas as it may, and then for the end of all but one. */
export async function scaleByWaiting(release: Release): Promise<void> {
  const ended = new AbortController();
  // A sample that fails ends the samples alone.
  const samples = sample(release, ended.signal).catch(console.error);
  try {
    await release.untilReplicas(MOST_REPLICAS);
    await release.untilReplicas(1, 1_200);
  } finally {
    ended.abort();
    await samples;
  }
}

/** Gives the number of replicas back to the lab. KEDA stays on the cluster. */
export async function endWaiting(release: Release): Promise<void> {
  // With another autoscaler at first: Helm would not take the number from one.
  await release.upgrade({ autoscaling: { enabled: true } });
  await release.kubectl('delete', 'horizontalpodautoscaler', 'lango');
  await release.kubectl('scale', 'deployment/lango', '--replicas=2');
}

/** Prints what the autoscaler sees, and how much of a processor the replicas use. */
async function sample(release: Release, ended: AbortSignal): Promise<void> {
  const begun = Date.now();
  for (;;) {
    const [replicas, waiting, working, cpu] = await Promise.all([
      release.kubectl('get', 'deployment', 'lango', '--output', 'jsonpath={.status.readyReplicas}'),
      openTasks(release, 'submitted'),
      openTasks(release, 'working'),
      release
        .kubectl('top', 'pod', '--no-headers', '--selector', 'app.kubernetes.io/component=front')
        .catch(() => ''),
    ]);
    const seconds = Math.round((Date.now() - begun) / 1_000);
    const millicores = Array.from(cpu.matchAll(/ (\d+)m /g), ([, used]) => Number(used));
    console.log(JSON.stringify({ seconds, replicas: Number(replicas), waiting, working, millicores }));
    if (ended.aborted) return;
    await sleep(SAMPLE_MS, undefined, { signal: ended }).catch(() => undefined);
  }
}

async function openTasks({ namespace }: Release, state: string): Promise<number> {
  const query = encodeURIComponent(`sum(max by (agent) (lango_tasks_open{state="${state}"}))`);
  const service = `/api/v1/namespaces/${namespace}/services/prometheus:9090/proxy`;
  const { stdout } = await run('kubectl', ['get', '--raw', `${service}/api/v1/query?query=${query}`]);
  const { data } = JSON.parse(stdout) as {
    readonly data: { readonly result: readonly { readonly value: readonly [number, string] }[] };
  };
  return Number(data.result[0]?.value[1] ?? 0);
}

async function installKeda(): Promise<void> {
  const crd = ['get', 'crd', 'scaledobjects.keda.sh'];
  if (await run('kubectl', crd).catch(() => undefined)) return;
  if (!existsSync(KEDA)) {
    throw new Error(`The cluster has no KEDA. Install it, or run lab/kubernetes/keda/build ${KEDA} and load
${WAITING_IMAGES.join(' and ')} to its machines.`);
  }
  await run('kubectl', ['apply', '--server-side', '--kustomize', KEDA]);
  for (const name of ['keda-operator', 'keda-metrics-apiserver', 'keda-admission']) {
    await run('kubectl', [
      ...['--namespace', 'keda', 'rollout', 'status', `deployment/${name}`, '--timeout=300s'],
    ]);
  }
}

async function addModel(release: Release): Promise<void> {
  const file = path.join(packageRoot(), 'dist/lab/kubernetes/model.js');
  await release.kubectl('delete', 'configmap', 'slow-model', '--ignore-not-found');
  await release.kubectl('create', 'configmap', 'slow-model', `--from-file=model.mjs=${file}`);
  await serve(release, {
    name: 'slow-model',
    port: 4300,
    spec: {
      securityContext: { runAsUser: 1000 },
      containers: [
        {
          ...{ name: 'model', image: await release.image(), command: ['node', '/model/model.mjs'] },
          volumeMounts: [{ name: 'model', mountPath: '/model' }],
        },
      ],
      volumes: [{ name: 'model', configMap: { name: 'slow-model' } }],
    },
  });
}

/**
 * A Prometheus with the labels that its operator gives to the targets of a ServiceMonitor. Debian's knows no Kubernetes, so
 * it finds the pods by the addresses of a Service without one.
 */
async function addPrometheus(release: Release): Promise<void> {
  await release.apply({
    ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'lango-each' } },
    spec: {
      clusterIP: 'None',
      selector: { 'app.kubernetes.io/name': 'lango', 'app.kubernetes.io/component': 'front' },
      ports: [{ port: 4100 }],
    },
  });
  const job = {
    job_name: 'lango',
    authorization: { credentials_file: '/secrets/metrics-token' },
    dns_sd_configs: [
      {
        names: [`lango-each.${release.namespace}.svc.cluster.local`],
        type: 'A',
        port: 4100,
        refresh_interval: '5s',
      },
    ],
    relabel_configs: [
      { target_label: 'namespace', replacement: release.namespace },
      { target_label: 'service', replacement: 'lango' },
    ],
  };
  await release.apply({
    ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'prometheus' } },
    // JSON is YAML.
    data: {
      'prometheus.yml': JSON.stringify({ global: { scrape_interval: '5s' }, scrape_configs: [job] }),
    },
  });
  await serve(release, {
    name: 'prometheus',
    port: 9090,
    spec: {
      securityContext: { runAsUser: 65534, fsGroup: 65534 },
      containers: [
        {
          ...{ name: 'prometheus', image: PROMETHEUS_IMAGE, imagePullPolicy: 'IfNotPresent' },
          readinessProbe: { httpGet: { path: '/-/ready', port: 9090 }, periodSeconds: 2 },
          volumeMounts: [
            { name: 'config', mountPath: '/etc/lango-lab' },
            { name: 'secrets', mountPath: '/secrets' },
          ],
        },
      ],
      volumes: [
        { name: 'config', configMap: { name: 'prometheus' } },
        {
          name: 'secrets',
          secret: { secretName: 'lango', items: [{ key: 'metrics-token', path: 'metrics-token' }] },
        },
      ],
    },
  });
}

interface Served {
  readonly name: string;
  readonly port: number;
  readonly spec: object;
}

/** A Service and the pod behind it. The policy of the chart lets a pod of this name read metrics. */
async function serve(release: Release, { name, port, spec }: Served): Promise<void> {
  const labels = { app: name, 'app.kubernetes.io/name': name };
  await release.apply({
    ...{ apiVersion: 'v1', kind: 'Service', metadata: { name } },
    spec: { selector: labels, ports: [{ port }] },
  });
  await release.apply({
    ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name } },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  });
  await release.kubectl('rollout', 'status', `deployment/${name}`, '--timeout=120s');
}
