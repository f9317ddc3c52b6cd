import { beforeAll, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { plainManifests } from '../../scripts/manifests.js';
import {
  HELM,
  lintFindings,
  makeSecret,
  renderedManifests,
  secretItems,
  shippedManifests,
  workloadsOf,
} from './kit.js';
import type { Manifest, Workload } from './kit.js';
import { readNode, variablesOf } from './nodes.js';
import { addressFindings, containersOf, referenceFindings } from './references.js';
import { schemaFindings } from './schemas.js';
import { CONTAINERS, containersIn } from './workloads.js';

/** The chart, and the manifests of deploy/kubernetes that are made from it. lab/kubernetes runs them on a cluster. */

if (HELM === undefined)
  console.warn('SKIPPED: the chart with other values than those of deploy/kubernetes. Helm is not here.');
const describeWithHelm = HELM === undefined ? describe.skip : describe;

const SHAPES = ['single', 'replicas', 'stack'] as const;
const MONITORED = {
  shape: 'stack',
  metrics: { enabled: true, serviceMonitor: { enabled: true, labels: { release: 'prometheus' } } },
  modelKeys: { ANTHROPIC_API_KEY: { key: 'anthropic-api-key' } },
};
const WITH_CA = {
  shape: 'replicas',
  metrics: { enabled: true },
  database: { port: 6432, caSecret: { name: 'lango', key: 'token' } },
};
const WITH_TLS = { shape: 'stack', tls: { enabled: true, existingSecret: 'lango' } };

const SUB_AGENTS = ['chronicler', 'librarian', 'navigator', 'operator', 'planner', 'vault'];
const OF_SUB_AGENTS = SUB_AGENTS.map((name) => `lango-${name}`);

let secret: Manifest;
let shipped: ReadonlyMap<string, readonly Manifest[]>;
beforeAll(async () => {
  secret = await makeSecret();
  const all = SHAPES.map(async (shape) => [shape, await shippedManifests(shape, secret)] as const);
  shipped = new Map(await Promise.all(all));
});

/** Checks that hold for all manifests: [what they are, how to get them, the values]. */
const ALL = [
  ...SHAPES.map((shape) => [`of ${shape}`, { shape }] as const),
  ...(HELM ? [['with metrics and a key', MONITORED] as const] : []),
  ...(HELM ? [['with the authority of a database', WITH_CA] as const] : []),
  ...(HELM ? [['with TLS', WITH_TLS] as const] : []),
];
interface Values {
  readonly shape: string;
  readonly metrics?: object;
  readonly tls?: object;
}
const manifestsOf = async (values: Values) =>
  Object.keys(values).length === 1 ? shipped.get(values.shape)! : renderedManifests(values, secret);

describe('the manifests for Kubernetes', () => {
  describe.each(ALL)('%s', (_, values: Values) => {
    let manifests: readonly Manifest[];
    beforeAll(async () => {
      manifests = await manifestsOf(values);
    });

    it('are valid for the API, and reference only existing objects', async () => {
      expect((await Promise.all(manifests.map(schemaFindings))).flat()).toEqual([]);
      expect(referenceFindings(manifests)).toEqual([]);
    });

    it('give each node a valid configuration of Lango, and time to stop', async () => {
      for (const workload of workloadsOf(manifests)) {
        const { findings, keys } = await readNode(workload, manifests);
        expect(findings).toEqual([]);
        expect(addressFindings(addressesOf(workload, keys), manifests)).toEqual([]);
        if (!workload.isServer) continue;
        expect(secondsToSpare(workload, keys)).toBeGreaterThanOrEqual(5);
        if (workload.pod.volumes.some((one) => one.name === 'data' && one.persistentVolumeClaim)) {
          // The predecessor of a deleted pod may use the database until it is killed.
          const { terminationGracePeriodSeconds, containers } = workload.pod;
          const { periodSeconds, failureThreshold } = containers[0].startupProbe!;
          expect(keys.get('storage.sqlite.waitSeconds')).toBeGreaterThan(terminationGracePeriodSeconds!);
          expect(keys.get('storage.sqlite.waitSeconds')).toBeLessThan(periodSeconds! * failureThreshold!);
        }
        const { name } = workload;
        const inCluster = ['lango', 'lango.svc', 'lango.svc.cluster.local'].map((end) => `${name}.${end}`);
        expect(keys.get('server.allowedHosts')).toEqual([name, ...inCluster]);
        expect(keys.get('metrics.enabled')).toBe(values.metrics !== undefined);
        expect(keys.get('server.allowRisks')).toHaveLength(
          values.tls ? 0 : keys.has('a2a.remoteAgents[0].url') || OF_SUB_AGENTS.includes(name) ? 2 : 1,
        );
      }
    });

    it('give pods no rights beyond those they need', () => {
      for (const { name, pod, isServer } of workloadsOf(manifests)) {
        const own = { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } };
        // Kubernetes would set LANGO_PORT for the Service lango.
        const expected = { enableServiceLinks: false, automountServiceAccountToken: false };
        expect({ name, pod }).toMatchObject({ name, pod: { ...expected, securityContext: own } });
        for (const container of containersOf(pod)) {
          const { securityContext = {}, resources } = container;
          const { seccompProfile, ...rights } = securityContext;
          expect(rights).toMatchObject({
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          });
          expect(rights.capabilities).not.toHaveProperty('add');
          expect(rights).not.toHaveProperty('privileged');
          expect(rights).not.toHaveProperty('runAsUser');
          expect(resources?.requests).toMatchObject({ cpu: expect.any(String), memory: expect.any(String) });
          expect(resources?.limits).toHaveProperty('memory');
          const hasSandbox = values.shape === 'stack' ? /-(navigator|operator)$/.test(name) : isServer;
          expect([name, container.name, seccompProfile?.type]).toEqual([
            name,
            container.name,
            hasSandbox && container.name === 'lango' ? 'Unconfined' : undefined,
          ]);
          for (const { name: variable, value = '' } of container.env ?? [])
            if (/TOKEN|KEY|PASSPHRASE|DATABASE_URL/.test(variable)) {
              expect(variable).toMatch(/_FILE$/);
              expect(value).toMatch(/^\/run\/secrets\//);
            }
        }
        const probes = pod.containers[0];
        if (isServer) expect(probes.readinessProbe?.httpGet.path).toBe('/readyz');
        if (isServer) expect(probes.livenessProbe?.httpGet.path).toBe('/healthz');
      }
    });
  });

  it.each(SHAPES)(
    'give each container of %s the image, the probes, the rights and the volumes of its workload',
    (shape) => {
      expect(containersIn(shipped.get(shape)!)).toEqual(CONTAINERS[shape]);
    },
  );

  it('run the agents that their names say', () => {
    const names = (shape: string) => workloadsOf(shipped.get(shape)!).map(({ name }) => name);
    expect(names('single')).toEqual(['lango']);
    expect(names('replicas')).toEqual(['lango']);
    expect(names('stack').toSorted()).toEqual([...OF_SUB_AGENTS, 'lango'].toSorted());
    for (const workload of workloadsOf(shipped.get('stack')!)) {
      const { name } = workload;
      if (name === 'lango') continue;
      const variables = { LANGO_AGENT: name.slice(6), LANGO_BASE_URL: `http://${name}:4100` };
      expect(Object.fromEntries(variablesOf(workload))).toMatchObject(variables);
    }
  });

  it('let the operator fetch secrets of the vault and skills of the librarian, and no other node', async () => {
    const manifests = shipped.get('stack')!;
    for (const workload of workloadsOf(manifests).filter(({ name }) => OF_SUB_AGENTS.includes(name))) {
      const { keys } = await readNode(workload, manifests);
      expect(Object.fromEntries(keys)).toMatchObject({
        'a2a.keptAt.secrets.url': 'http://lango-vault:4100',
        'a2a.keptAt.skills.url': 'http://lango-librarian:4100',
        'auth.nodes[0].name': 'orchestrator',
        'auth.nodes[0].may': ['act'],
        'auth.nodes[1].jwks': 'http://lango-operator:4100/.well-known/jwks.json',
        'auth.nodes[1].may': ['secrets', 'skills'],
      });
      expect(keys.has('auth.nodes[2].name')).toBe(false);
    }
  });

  it('mount each secret only into the nodes that need it', () => {
    const seen = workloadsOf(shipped.get('stack')!).flatMap(({ name, pod }) =>
      pod.volumes.flatMap((volume) => secretItems(volume).map(({ key }) => `${name} ${key}`)),
    );
    expect(seen.toSorted()).toEqual([
      'lango database-url',
      'lango keys.json',
      'lango token',
      'lango vault-passphrase',
      'lango-vault vault-passphrase',
    ]);
  });
});

describeWithHelm('the chart', () => {
  let monitored: readonly Manifest[];
  beforeAll(async () => {
    monitored = await renderedManifests(MONITORED, secret);
  });

  it.each(SHAPES)('has no findings of helm lint as %s', async (shape) => {
    expect(await lintFindings({ shape })).toEqual([]);
  });

  it.each(SHAPES)('makes the manifests of %s that are in the repository', async (shape) => {
    expect(await plainManifests(shape, HELM)).toBe(await readFile(`deploy/kubernetes/${shape}.yaml`, 'utf8'));
  });

  it.each([
    [{ shpe: 'single' }, 'shpe'],
    [{ shape: 'triple' }, 'shape'],
    [{ subAgents: { vault: { sandbx: true } } }, 'sandbx'],
    [{ subAgents: { valet: { enabled: true } } }, 'valet'],
    [{ ingress: { enabled: true } }, 'host'],
  ])('refuses %j', async (values, named) => {
    await expect(renderedManifests(values, secret)).rejects.toThrow(named);
  });

  it('trusts the authority of the database in the nodes that use it, and lets them reach its port', async () => {
    const manifests = await renderedManifests({ ...WITH_CA, shape: 'stack' }, secret);
    const trusting = workloadsOf(manifests).filter((one) =>
      variablesOf(one).some(
        ([name, value]) => name === 'LANGO_DATABASE_CA' && value === '/run/database-ca/ca.crt',
      ),
    );
    expect(trusting.map(({ name }) => name)).toEqual(['lango']);
    expect(trusting[0]!.pod.containers[0].volumeMounts).toContainEqual({
      ...{ name: 'database-ca', mountPath: '/run/database-ca', readOnly: true },
    });
    expect(find(manifests, 'NetworkPolicy', 'lango-database').spec).toMatchObject({
      egress: [{ ports: [{ port: 6432 }] }],
    });
  });

  it('keeps an upgrade of the tables before all else, and does so in an upgrade only', async () => {
    const jobs = async (...args: string[]) =>
      workloadsOf(await renderedManifests({ shape: 'replicas' }, secret, args)).filter(
        (one) => !one.isServer,
      );
    expect(await jobs()).toEqual([]);
    expect(await jobs('--is-upgrade', '--set', 'upgradeStrategy=Recreate')).toEqual([]);
    const [job] = await jobs('--is-upgrade');
    expect(job).toMatchObject({
      pod: { containers: [{ args: ['migrate', '--schema'], image: 'lango:0.1.0' }] },
    });
  });

  it('leaves out a sub-agent that is switched off, also at the orchestrator', async () => {
    const off = { navigator: { enabled: false }, librarian: { enabled: false } };
    const values = { ...WITH_TLS, subAgents: off };
    const manifests = await renderedManifests(values, secret);
    expect(workloadsOf(manifests).map(({ name }) => name)).not.toContain('lango-navigator');
    const [front] = workloadsOf(manifests).filter(({ name }) => name === 'lango');
    const { keys, findings } = await readNode(front!, manifests);
    expect(findings).toEqual([]);
    const names = [...keys].flatMap(([key, value]) => (/remoteAgents.*name$/.test(key) ? [value] : []));
    expect(names.toSorted()).toEqual(SUB_AGENTS.filter((name) => !(name in off)));
  });

  it('scales by the tasks of the database with KEDA, in place of CPU', async () => {
    const values = { ...MONITORED, autoscaling: { keda: { enabled: true, tasksPerReplica: 10 } } };
    const manifests = await renderedManifests(values, secret);
    expect(manifests.filter(({ kind }) => kind === 'HorizontalPodAutoscaler')).toEqual([]);
    expect(find(manifests, 'ScaledObject').spec).toMatchObject({
      scaleTargetRef: { kind: 'Deployment', name: 'lango' },
      minReplicaCount: 2,
      maxReplicaCount: 6,
      triggers: [
        {
          type: 'prometheus',
          metadata: {
            query: 'sum(max by (agent, state) (lango_tasks_open{namespace="lango",service="lango"}))',
            threshold: '10',
          },
        },
      ],
    });
  });

  it('has no autoscaler and no budget for a node that is alone, and no number of replicas beside an autoscaler', () => {
    const kinds = (shape: string) => shipped.get(shape)!.map(({ kind }) => kind);
    expect(kinds('single')).not.toContain('HorizontalPodAutoscaler');
    expect(kinds('single')).not.toContain('PodDisruptionBudget');
    expect(find(shipped.get('replicas')!, 'Deployment').spec).not.toHaveProperty('replicas');
    expect(find(shipped.get('single')!, 'Deployment').spec).toMatchObject({ replicas: 1 });
  });

  it('makes what the examples of the guide ask for', async () => {
    const guide = await readFile('docs/guides/run-on-kubernetes.md', 'utf8');
    const examples = Array.from(
      guide.matchAll(/```yaml\n# values\.yaml\n([^]*?)```/g),
      ([, text]) => parse(text!) as object,
    );
    expect(examples.length).toBeGreaterThan(0);
    for (const values of examples) {
      const manifests = await renderedManifests(values, secret);
      const checked = manifests.filter(
        ({ kind }) => !['HTTPRoute', 'ScaledObject', 'Certificate'].includes(kind),
      );
      expect((await Promise.all(checked.map(schemaFindings))).flat()).toEqual([]);
    }
  });

  describe('a fault in the manifests', () => {
    const pod = (manifests: readonly Manifest[], name = 'lango') =>
      workloadsOf(manifests).find((one) => one.name === name)!.pod;
    const secretsOf = (all: readonly Manifest[]) =>
      pod(all).volumes.flatMap((one) => one.projected?.sources ?? [])[0]!.secret;
    const fields = (manifest: Manifest, key: string) => manifest.spec![key] as Record<string, unknown>;

    const MISSPELT: readonly (readonly [string, string, (manifests: readonly Manifest[]) => object])[] = [
      ['a pod', 'enableServicelinks', pod],
      ['a container', 'livenessprobe', (all) => pod(all).containers[0]],
      ['rights', 'readOnlyRootFileSystem', (all) => pod(all).containers[0].securityContext!],
      ['a probe', 'pathh', (all) => pod(all).containers[0].livenessProbe!.httpGet],
      ['a Service', 'sessionAffinty', (all) => find(all, 'Service').spec!],
      ['a policy', 'policytypes', (all) => find(all, 'NetworkPolicy').spec!],
      ['an autoscaler', 'minreplicas', (all) => find(all, 'HorizontalPodAutoscaler').spec!],
      ['a budget', 'maxUnavailble', (all) => find(all, 'PodDisruptionBudget').spec!],
      ['a claim', 'accesModes', (all) => find(all, 'PersistentVolumeClaim', 'lango-vault').spec!],
      ['a monitor', 'endpoint', (all) => find(all, 'ServiceMonitor').spec!],
    ];
    it.each(MISSPELT)(
      'is found by these checks when it is a misspelt field of %s',
      async (_, field, place) => {
        const manifests = structuredClone(monitored);
        Object.assign(place(manifests), { [field]: 1 });
        const found = (await Promise.all(manifests.map(schemaFindings))).flat();
        expect(found).toEqual([expect.stringContaining(`/${field} is no field of it`)]);
      },
    );

    it('is found by these checks when it is a value that the API does not accept', async () => {
      const manifests = structuredClone(monitored);
      Object.assign(pod(manifests).containers[0].resources!.limits!, { memory: '1 GB' });
      const found = (await Promise.all(manifests.map(schemaFindings))).flat();
      expect(found.join('\n')).toMatch(/^Deployment lango: .*\/limits\/memory/);
    });

    const DANGLING: readonly (readonly [string, (manifests: Manifest[]) => void, string])[] = [
      [
        'a ConfigMap',
        (all) => (pod(all).volumes.find((one) => one.configMap)!.configMap!.name = 'gone'),
        'there is no ConfigMap gone',
      ],
      ['a Secret', (all) => (secretsOf(all).name = 'gone'), 'there is no Secret gone'],
      [
        'a key of a Secret',
        (all) => (secretsOf(all).items[0]!.key = 'gone'),
        'there is no key gone in Secret lango',
      ],
      [
        'a claim',
        (all) =>
          (pod(all, 'lango-vault').volumes.find(
            (one) => one.persistentVolumeClaim,
          )!.persistentVolumeClaim!.claimName = 'gone'),
        'there is no PersistentVolumeClaim gone',
      ],
      [
        'a volume',
        (all) => (pod(all).containers[0].volumeMounts![0]!.name = 'gone'),
        'there is no volume gone',
      ],
      [
        'a port of a probe',
        (all) => (pod(all).containers[0].readinessProbe!.httpGet.port = 'gone'),
        'there is no port gone',
      ],
      [
        'a port of a Service',
        (all) => Object.assign((find(all, 'Service').spec!['ports'] as object[])[0]!, { targetPort: 'gone' }),
        'lango has no port gone',
      ],
      [
        'the pods of a Service',
        (all) => (fields(find(all, 'Service'), 'selector')['app.kubernetes.io/component'] = 'gone'),
        'Service lango: no pod has',
      ],
      [
        'the pods of a Deployment',
        (all) => Object.assign(find(all, 'Deployment').spec!, { selector: { matchLabels: { a: 'b' } } }),
        'is not of its pods',
      ],
      [
        'the pods of a policy',
        (all) =>
          Object.assign(find(all, 'NetworkPolicy').spec!, { podSelector: { matchLabels: { a: 'b' } } }),
        'NetworkPolicy lango: no pod has',
      ],
      [
        'the pods of a budget',
        (all) =>
          Object.assign(fields(find(all, 'PodDisruptionBudget'), 'selector'), { matchLabels: { a: 'b' } }),
        'PodDisruptionBudget lango: no pod has',
      ],
      [
        'the target of an autoscaler',
        (all) => (fields(find(all, 'HorizontalPodAutoscaler'), 'scaleTargetRef')['name'] = 'gone'),
        'there is no Deployment gone',
      ],
      [
        'the Service of a monitor',
        (all) => Object.assign(fields(find(all, 'ServiceMonitor'), 'selector'), { matchLabels: { a: 'b' } }),
        'no Service has',
      ],
      [
        'the port of a monitor',
        (all) =>
          Object.assign((find(all, 'ServiceMonitor').spec!['endpoints'] as object[])[0]!, { port: 'gone' }),
        'has no port gone',
      ],
    ];
    it.each(DANGLING)('is found by these checks when it is the lack of %s', (_, change, finding) => {
      const manifests = structuredClone(monitored) as Manifest[];
      change(manifests);
      expect(referenceFindings(manifests).join('\n')).toContain(finding);
    });

    it('is found by these checks when it is a configuration, a variable or an address that Lango does not accept', async () => {
      const manifests = structuredClone(monitored) as Manifest[];
      const config = manifests.find(({ kind }) => kind === 'ConfigMap')!.data as Record<string, string>;
      config['sub-agent.yaml'] = config['sub-agent.yaml']!.replace('publish:', 'publishes:');
      const [vault, planner] = ['lango-vault', 'lango-planner'].map((wanted) =>
        workloadsOf(manifests).find(({ name }) => name === wanted)!,
      );
      vault!.pod.containers[0].env!.push({ name: 'LANGO_LOG_LEVELS', value: 'debug' });
      expect((await readNode(vault!, manifests)).findings).toEqual([
        'lango-vault: Lango does not read LANGO_LOG_LEVELS',
        expect.stringContaining('publishes'),
      ]);
      config['sub-agent.yaml'] = config['sub-agent.yaml'].replace('publishes:', 'publish:');
      const variable = planner!.pod.containers[0].env!.find(({ name }) => name === 'ORCHESTRATOR_URL')!;
      variable.value = 'http://front:4100';
      const { keys } = await readNode(planner!, manifests);
      expect(addressFindings(addressesOf(planner!, keys), manifests)).toEqual([
        'no Service answers at front:4100',
      ]);
    });
  });
});

function find(manifests: readonly Manifest[], kind: string, name = 'lango'): Manifest {
  return manifests.find((one) => one.kind === kind && one.metadata.name === name)!;
}

/** The addresses of nodes in a configuration. */
function addressesOf({ name }: Workload, keys: ReadonlyMap<string, unknown>): readonly string[] {
  const others = [...keys].filter(([key]) =>
    /^(a2a\.remoteAgents\[\d\]|auth\.nodes\[\d\]|a2a\.keptAt\.\w+)\.(url|jwks)$/.test(key),
  );
  const own = OF_SUB_AGENTS.includes(name) ? [keys.get('a2a.baseUrl')] : [];
  return [...own, ...others.flatMap(([, url]) => url ?? [])].map(String);
}

/** The seconds left of the time that Kubernetes gives a pod to stop, when Lango uses all of its own. */
function secondsToSpare({ pod }: Workload, keys: ReadonlyMap<string, unknown>): number {
  const { terminationGracePeriodSeconds = 30, containers } = pod;
  const { seconds = 0 } = containers[0].lifecycle?.preStop?.sleep ?? {};
  const notice = Number(keys.get('server.limits.noticeSeconds') ?? 5);
  return terminationGracePeriodSeconds - seconds - notice - Number(keys.get('server.limits.drainSeconds'));
}
