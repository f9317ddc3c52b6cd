import { beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { HELM, lintFindings, makeSecret, renderedManifests, workloadsOf } from './kit.js';
import type { Manifest } from './kit.js';
import { schemaFindings } from './schemas.js';

/** The values that users of other charts look for: placement, sidecars, accounts, annotations. */

const SIDECAR = { name: 'proxy', image: 'registry.example/proxy:1', restartPolicy: 'Always' };
const TOLERATION = { key: 'agents', operator: 'Exists' };
const RACKS = { maxSkew: 1, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule' };
const VALUES = {
  shape: 'stack',
  serviceAccount: { create: true, annotations: { 'cloud.example/role': 'lango' } },
  podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null },
  service: { type: 'LoadBalancer', spec: { loadBalancerSourceRanges: ['192.0.2.0/24'] } },
  metrics: {
    enabled: true,
    serviceMonitor: { enabled: true, metricRelabelings: [{ action: 'labeldrop', regex: 'agent' }] },
  },
  defaults: {
    annotations: { 'reloader.example/auto': 'true' },
    nodeSelector: { pool: 'agents' },
    tolerations: [TOLERATION],
    priorityClassName: 'agents',
    extraEnvFrom: [{ configMapRef: { name: 'proxies' } }],
  },
  front: { nodeSelector: { pool: 'front' }, initContainers: [SIDECAR], topologySpreadConstraints: [RACKS] },
};

const describeWithHelm = HELM === undefined ? describe.skip : describe;

describeWithHelm('the values that users of Helm expect', () => {
  let secret: Manifest;
  let manifests: readonly Manifest[];
  beforeAll(async () => {
    secret = await makeSecret();
    manifests = await renderedManifests(VALUES, secret, ['--is-upgrade']);
  });
  const find = (kind: string, name = 'lango') =>
    manifests.find((one) => one.kind === kind && one.metadata.name === name)!;

  it('make manifests that the API and helm lint accept', async () => {
    expect((await Promise.all(manifests.map(schemaFindings))).flat()).toEqual([]);
    expect(await lintFindings(VALUES)).toEqual([]);
  });

  it('put every pod of the chart on the machines that are meant for it', async () => {
    const trial = { ...VALUES, database: { trial: { enabled: true } } };
    const all = [...manifests, ...(await renderedManifests(trial, secret))];
    const pods = [
      ...workloadsOf(all).map(({ name, pod }) => ({ name, pod: pod as object })),
      { name: 'lango-test', pod: find('Pod', 'lango-test').spec! },
    ];
    expect(pods.map(({ name }) => name)).toEqual(expect.arrayContaining(['database', 'lango-migration']));
    for (const { name, pod } of pods) {
      const pool = name === 'lango' || name === 'lango-migration' ? 'front' : 'agents';
      expect({ name, pod }).toMatchObject({
        name,
        pod: { nodeSelector: { pool }, tolerations: [TOLERATION], priorityClassName: 'agents' },
      });
    }
  });

  it('run a sidecar beside the front node and beside the upgrade of the tables, before anything of Lango', () => {
    const inits = (name: string) =>
      workloadsOf(manifests)
        .find((one) => one.name === name)!
        .pod.initContainers?.map((one) => one.name);
    expect(inits('lango')).toEqual(['proxy', 'keys']);
    expect(inits('lango-migration')).toEqual(['proxy']);
    expect(inits('lango-vault')).toBeUndefined();
  });

  it('replace how replicas are spread, and only where that is said', async () => {
    const [front] = workloadsOf(manifests).filter(({ name }) => name === 'lango');
    expect(front!.pod.topologySpreadConstraints).toEqual([RACKS]);
    const [usual] = workloadsOf(await renderedManifests({ shape: 'replicas' }, secret));
    expect(usual!.pod.topologySpreadConstraints).toHaveLength(2);
  });

  it('give pods an account with annotations, which the upgrade of the tables does not wait for', () => {
    expect(find('ServiceAccount').metadata).toMatchObject({ annotations: VALUES.serviceAccount.annotations });
    for (const { name, pod } of workloadsOf(manifests))
      expect({ name, pod }).toMatchObject({
        pod: {
          automountServiceAccountToken: false,
          ...(name !== 'lango-migration' && { serviceAccountName: 'lango' }),
        },
      });
    const job = workloadsOf(manifests).find(({ name }) => name === 'lango-migration')!;
    expect(job.pod).not.toHaveProperty('serviceAccountName');
  });

  it('leave the users of pods to a cluster that gives them, and nothing else of their rights', () => {
    for (const { pod } of workloadsOf(manifests))
      expect(pod.securityContext).toEqual({
        runAsNonRoot: true,
        fsGroupChangePolicy: 'OnRootMismatch',
        seccompProfile: { type: 'RuntimeDefault' },
      });
  });

  it('reach the Deployments, the containers, the Service and the monitor', () => {
    for (const name of ['lango', 'lango-vault']) {
      const { metadata, spec } = find('Deployment', name);
      expect(metadata).toMatchObject({ annotations: VALUES.defaults.annotations });
      const containers = [expect.objectContaining({ envFrom: VALUES.defaults.extraEnvFrom })];
      expect(spec).toMatchObject({ template: { spec: { containers } } });
    }
    expect(find('Service').spec).toMatchObject({ type: 'LoadBalancer', ...VALUES.service.spec });
    expect(find('Service', 'lango-vault').spec).not.toHaveProperty('loadBalancerSourceRanges');
    expect(find('ServiceMonitor').spec).toMatchObject({
      endpoints: [{ metricRelabelings: VALUES.metrics.serviceMonitor.metricRelabelings }],
    });
  });

  it('are refused when they are misspelt or lack what the API demands', async () => {
    for (const [values, named] of [
      [{ serviceAccountName: 'lango' }, 'serviceAccountName'],
      [{ serviceAccount: { anotations: {} } }, 'anotations'],
      [{ front: { initContainers: [{ name: 'proxy' }] } }, 'image'],
      [{ front: { topologySpreadConstraints: [{ maxSkew: 1 }] } }, 'topologyKey'],
    ] as const)
      await expect(renderedManifests(values, secret)).rejects.toThrow(named);
  });

  it('have a page that `helm show readme` prints', async () => {
    const { stdout } = await promisify(execFile)(HELM!, ['show', 'readme', 'deploy/helm/lango']);
    expect(stdout).toContain('helm show values');
  });
});
