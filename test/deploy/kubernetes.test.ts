import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { findBuilder, Kit, workloadsOf, type Manifest, type Workload } from './kit.js';
import { readNode, variablesOf } from './nodes.js';
import { addressFindings, containersOf, referenceFindings } from './references.js';
import { schemaFindings } from './schemas.js';
import { CONTAINERS, containersIn } from './workloads.js';

/** deploy/kubernetes as kustomize builds it: no test runs on a cluster. */

const builder = findBuilder();
if (builder === undefined)
  console.warn('SKIPPED: the manifests of deploy/kubernetes. Neither kustomize nor kubectl is here.');

const OVERLAYS = [
  ['single', []],
  ['replicas', []],
  ['stack', []],
  ['replicas', ['prometheus', 'database-ca']],
  ['stack', ['anthropic', 'prometheus']],
] as const;

const SUB_AGENTS = ['chronicler', 'librarian', 'navigator', 'operator', 'planner', 'vault'];

(builder === undefined ? describe.skip : describe)('the manifests of deploy/kubernetes', () => {
  let kit: Kit;
  const built = new Map<string, readonly Manifest[]>();
  const manifestsOf = (overlay: string, components: readonly string[] = []) =>
    built.get([overlay, ...components].join(' '))!;

  beforeAll(async () => {
    kit = await Kit.open(builder!);
    for (const [overlay, components] of OVERLAYS)
      built.set([overlay, ...components].join(' '), await kit.build(overlay, components));
  });
  afterAll(() => kit.close());

  describe.each(OVERLAYS)('%s %s', (overlay, components: readonly string[]) => {
    it('are valid for the API, and reference only existing objects', async () => {
      const manifests = manifestsOf(overlay, components);
      expect((await Promise.all(manifests.map(schemaFindings))).flat()).toEqual([]);
      expect(referenceFindings(manifests)).toEqual([]);
    });

    it('give each node a valid configuration of Lango, and time to stop', async () => {
      const manifests = manifestsOf(overlay, components);
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
        expect(keys.get('metrics.enabled')).toBe(components.includes('prometheus'));
      }
    });

    it('give pods no rights beyond those they need', () => {
      for (const { name, pod, isServer } of workloadsOf(manifestsOf(overlay, components))) {
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
          const hasSandbox = ['navigator', 'operator'].includes(name) || (overlay !== 'stack' && isServer);
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

  it.each(['single', 'replicas', 'stack'] as const)(
    'give each container of %s the image, the probes, the rights and the volumes of its workload',
    (overlay) => {
      expect(containersIn(manifestsOf(overlay))).toEqual(CONTAINERS[overlay]);
    },
  );

  it('are built and valid with the examples of the guide as they stand', async () => {
    const files = await guideFiles();
    expect([...files.keys()]).toEqual(['kustomization.yaml', 'ingress.yaml', 'route.yaml']);
    const manifests = await kit.buildOwn(files);
    expect((await Promise.all(manifests.map(schemaFindings))).flat()).toEqual([]);
    expect(manifests.find(({ kind }) => kind === 'Ingress')?.metadata.namespace).toBe('lango');
    for (const { pod } of workloadsOf(manifests)) {
      expect(pod.imagePullSecrets).toEqual([{ name: 'registry' }]);
      for (const { image } of containersOf(pod))
        expect(image).toMatch(/^registry\.example\/lango(-full)?:0\.1\.0$/);
    }
    const policy = manifests.find(({ metadata }) => metadata.name === 'lango-database')!;
    expect(policy.spec).toMatchObject({ egress: [{ ports: [{ port: 6432 }] }] });
  });

  it('leave nothing of replicas behind at single when the guide is followed', async () => {
    const named = (overlay: string) =>
      manifestsOf(overlay).map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`);
    const single = named('single');
    // The volume keeps the files of agents.
    const left = named('replicas').filter((one) => !single.includes(one) && !/-files$/.test(one));
    const guide = await readFile('docs/guides/run-on-kubernetes.md', 'utf8');
    const [, deleted = ''] = /kubectl -n lango delete --ignore-not-found ([^`]*?)\nkubectl/.exec(guide) ?? [];
    expect(deleted.split(/[\s\\]+/).toSorted()).toEqual(left.toSorted());
  });

  it('run the agents that their names say', () => {
    const names = (overlay: string) => workloadsOf(manifestsOf(overlay)).map(({ name }) => name);
    expect(names('single')).toEqual(['lango']);
    expect(names('replicas')).toEqual(['lango', 'lango-migration']);
    expect(names('stack').toSorted()).toEqual([...SUB_AGENTS, 'lango', 'lango-migration'].toSorted());
    for (const workload of workloadsOf(manifestsOf('stack')).filter(({ name }) =>
      SUB_AGENTS.includes(name),
    )) {
      const { name } = workload;
      const variables = { LANGO_AGENT: name, LANGO_BASE_URL: `http://${name}:4100` };
      expect(Object.fromEntries(variablesOf(workload))).toMatchObject(variables);
    }
  });

  it('let the operator fetch secrets of the vault and skills of the librarian, and no other node', async () => {
    const manifests = manifestsOf('stack');
    for (const workload of workloadsOf(manifests).filter(({ name }) => SUB_AGENTS.includes(name))) {
      const { keys } = await readNode(workload, manifests);
      expect(Object.fromEntries(keys)).toMatchObject({
        'a2a.keptAt.secrets.url': 'http://vault:4100',
        'a2a.keptAt.skills.url': 'http://librarian:4100',
        'auth.nodes[0].name': 'orchestrator',
        'auth.nodes[0].may': ['act'],
        'auth.nodes[1].jwks': 'http://operator:4100/.well-known/jwks.json',
        'auth.nodes[1].may': ['secrets', 'skills'],
      });
      expect(keys.has('auth.nodes[2].name')).toBe(false);
    }
  });

  it('trust the authority of the database in the nodes that use it, and nowhere else', () => {
    const trust = { LANGO_DATABASE_CA: '/run/database-ca/ca.crt' };
    const manifests = manifestsOf('replicas', ['prometheus', 'database-ca']);
    for (const workload of workloadsOf(manifests)) {
      expect(Object.fromEntries(variablesOf(workload))).toMatchObject(trust);
      const { volumeMounts, name } = workload.pod.containers[0];
      expect({ name, volumeMounts }).toMatchObject({
        volumeMounts: expect.arrayContaining([
          { name: 'database-ca', mountPath: '/run/database-ca', readOnly: true },
        ]),
      });
    }
    const ca = manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && /-ca-/.test(metadata.name));
    expect(ca?.data).toEqual({ 'ca.crt': 'a certificate' });
  });

  it('mount each secret only into the nodes that need it', () => {
    const seen = workloadsOf(manifestsOf('stack')).flatMap(({ name, pod }) =>
      pod.volumes.flatMap(({ secret }) => (secret?.items ?? []).map(({ key }) => `${name} ${key}`)),
    );
    expect(seen.toSorted()).toEqual([
      'lango database-url',
      'lango keys.json',
      'lango token',
      'lango vault-passphrase',
      'lango-migration database-url',
      'vault vault-passphrase',
    ]);
  });

  describe('a fault in the manifests', () => {
    const find = (manifests: readonly Manifest[], kind: string, name = 'lango') =>
      manifests.find((one) => one.kind === kind && one.metadata.name === name)!;
    const pod = (manifests: readonly Manifest[], name = 'lango') =>
      workloadsOf(manifests).find((one) => one.name === name)!.pod;
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
      ['a claim', 'accesModes', (all) => find(all, 'PersistentVolumeClaim', 'vault').spec!],
      ['a monitor', 'endpoint', (all) => find(all, 'ServiceMonitor').spec!],
    ];
    it.each(MISSPELT)(
      'is found by these checks when it is a misspelt field of %s',
      async (_, field, place) => {
        const manifests = structuredClone(manifestsOf('stack', ['anthropic', 'prometheus']));
        Object.assign(place(manifests), { [field]: 1 });
        const found = (await Promise.all(manifests.map(schemaFindings))).flat();
        expect(found).toEqual([expect.stringContaining(`/${field} is no field of it`)]);
      },
    );

    it('is found by these checks when it is a value that the API does not accept', async () => {
      const manifests = structuredClone(manifestsOf('stack'));
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
      [
        'a Secret',
        (all) => (pod(all).volumes.find((one) => one.secret)!.secret!.secretName = 'gone'),
        'there is no Secret gone',
      ],
      [
        'a key of a Secret',
        (all) => (pod(all).volumes.find((one) => one.secret)!.secret!.items![0]!.key = 'gone'),
        'there is no key gone in Secret lango',
      ],
      [
        'a claim',
        (all) =>
          (pod(all, 'vault').volumes.find(
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
        (all) => (fields(find(all, 'Service'), 'selector')['app.kubernetes.io/name'] = 'gone'),
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
      const manifests = structuredClone(manifestsOf('stack', ['anthropic', 'prometheus'])) as Manifest[];
      change(manifests);
      expect(referenceFindings(manifests).join('\n')).toContain(finding);
    });

    it('is found by these checks when it is a configuration, a variable or an address that Lango does not accept', async () => {
      const manifests = structuredClone(manifestsOf('stack')) as Manifest[];
      const config = manifests.find(({ kind }) => kind === 'ConfigMap')!.data as Record<string, string>;
      config['sub-agent.yaml'] = config['sub-agent.yaml']!.replace('publish:', 'publishes:');
      const [vault, planner] = ['vault', 'planner'].map((wanted) =>
        workloadsOf(manifests).find(({ name }) => name === wanted)!,
      );
      vault!.pod.containers[0].env!.push({ name: 'LANGO_LOG_LEVELS', value: 'debug' });
      expect((await readNode(vault!, manifests)).findings).toEqual([
        'vault: Lango does not read LANGO_LOG_LEVELS',
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

/** The files of the guide's own overlay, by name. */
async function guideFiles(): Promise<ReadonlyMap<string, string>> {
  const guide = await readFile('docs/guides/run-on-kubernetes.md', 'utf8');
  const blocks = guide.matchAll(/```yaml\n(# deploy\/kubernetes\/mine\/(\S+)\n[^]*?)```/g);
  return new Map(Array.from(blocks, ([, text = '', name = '']) => [name, text]));
}

/** The addresses of nodes in a configuration. */
function addressesOf({ name }: Workload, keys: ReadonlyMap<string, unknown>): readonly string[] {
  const others = [...keys].filter(([key]) =>
    /^(a2a\.remoteAgents\[\d\]|auth\.nodes\[\d\]|a2a\.keptAt\.\w+)\.(url|jwks)$/.test(key),
  );
  const own = SUB_AGENTS.includes(name) ? [keys.get('a2a.baseUrl')] : [];
  return [...own, ...others.flatMap(([, url]) => url ?? [])].map(String);
}

/** The seconds left of the time that Kubernetes gives a pod to stop, when Lango uses all of its own. */
function secondsToSpare({ pod }: Workload, keys: ReadonlyMap<string, unknown>): number {
  const { terminationGracePeriodSeconds = 30, containers } = pod;
  const { seconds = 0 } = containers[0].lifecycle?.preStop?.sleep ?? {};
  const notice = Number(keys.get('server.limits.noticeSeconds') ?? 5);
  return terminationGracePeriodSeconds - seconds - notice - Number(keys.get('server.limits.drainSeconds'));
}
