import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { packageRoot } from '../../src/config/package-root.js';
import { certificate } from '../support/certificates.js';
import { langoHere } from '../cli/lango-here.js';

const run = promisify(execFile);
/** Helm, also where `go install` puts it; undefined when it is not here. */
export const HELM = ['helm', path.join(homedir(), 'go/bin/helm')].find(
  (one) => spawnSync(one, ['version']).status === 0,
);

type Labels = Readonly<Record<string, string>>;

export interface Selector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly { key: string; operator: string; values?: readonly string[] }[];
}

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { name: string; namespace?: string; labels?: Labels };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
}

interface Probe {
  readonly periodSeconds?: number;
  readonly failureThreshold?: number;
  readonly httpGet: { readonly path: string; port: string | number };
}

interface Rights {
  readonly runAsNonRoot?: boolean;
  readonly runAsUser?: number;
  readonly allowPrivilegeEscalation?: boolean;
  readonly readOnlyRootFilesystem?: boolean;
  readonly capabilities?: { readonly drop?: readonly string[]; readonly add?: readonly string[] };
  readonly seccompProfile?: { readonly type: string };
  readonly privileged?: boolean;
}

interface Variable {
  name: string;
  value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: 'metadata.namespace' };
    readonly secretKeyRef?: { readonly name: string; readonly key: string; readonly optional?: boolean };
  };
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly env?: Variable[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext?: Rights;
  readonly resources?: { readonly requests?: Labels; readonly limits?: Labels };
  readonly volumeMounts?: readonly {
    name: string;
    readonly mountPath: string;
    readonly subPath?: string;
    readonly readOnly?: boolean;
  }[];
  readonly lifecycle?: { readonly preStop?: { readonly sleep?: { readonly seconds: number } } };
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
}

interface Item {
  key: string;
  readonly path: string;
}

export interface Volume {
  readonly name: string;
  readonly configMap?: { name: string };
  readonly secret?: { secretName: string; readonly items?: readonly Item[] };
  readonly projected?: {
    readonly sources: readonly { readonly secret: { name: string; readonly items: readonly Item[] } }[];
  };
  readonly persistentVolumeClaim?: { claimName: string };
  readonly emptyDir?: object;
}

export interface PodSpec {
  enableServiceLinks?: boolean;
  readonly imagePullSecrets?: readonly { readonly name: string }[];
  readonly automountServiceAccountToken?: boolean;
  terminationGracePeriodSeconds?: number;
  readonly securityContext?: Rights;
  readonly containers: readonly [Container];
  readonly initContainers?: readonly Container[];
  readonly volumes: readonly Volume[];
  readonly topologySpreadConstraints?: readonly { readonly labelSelector: Selector }[];
}

/** The keys of Secrets that a volume has, with their files. */
export function secretItems({ secret, projected }: Volume) {
  const sources = projected?.sources.map((one) => one.secret) ?? [];
  const all = secret ? [{ name: secret.secretName, items: secret.items ?? [] }, ...sources] : sources;
  return all.flatMap(({ name, items }) => items.map((item) => ({ ...item, name })));
}

/** The pods of a Deployment or a Job. */
export interface Workload {
  readonly name: string;
  readonly namespace: string;
  readonly isServer: boolean;
  readonly labels: Labels;
  readonly selector: Selector | undefined;
  readonly pod: PodSpec;
}

export function workloadsOf(manifests: readonly Manifest[]): readonly Workload[] {
  return manifests
    .filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
    .map(({ kind, metadata, spec }) => {
      const { selector, template } = spec as unknown as {
        readonly selector?: Selector;
        readonly template: { readonly metadata: { readonly labels: Labels }; readonly spec: PodSpec };
      };
      return {
        name: metadata.name,
        namespace: metadata.namespace ?? '',
        isServer: kind === 'Deployment',
        labels: template.metadata.labels,
        selector,
        pod: template.spec,
      };
    });
}

/** The manifests that are in the repository, with those of a Secret. */
export async function shippedManifests(shape: string, secret: Manifest): Promise<Manifest[]> {
  const text = await readFile(path.join(packageRoot(), `deploy/kubernetes/${shape}.yaml`), 'utf8');
  return [...manifestsIn(text), secret];
}

/** The manifests that the chart makes of values, with those of a Secret. */
export async function renderedManifests(
  values: object,
  secret: Manifest,
  args: readonly string[] = [],
): Promise<Manifest[]> {
  const chart = path.join(packageRoot(), 'deploy/helm/lango');
  const given = run(HELM!, ['template', 'lango', chart, '--namespace', 'lango', '--values', '-', ...args]);
  given.child.stdin!.end(JSON.stringify(values));
  return [...manifestsIn((await given).stdout), secret];
}

/** The errors and warnings of `helm lint`. An icon is no part of the chart. */
export async function lintFindings(values: object): Promise<readonly string[]> {
  const chart = path.join(packageRoot(), 'deploy/helm/lango');
  const given = run(HELM!, ['lint', chart, '--strict', '--values', '-']);
  given.child.stdin!.end(JSON.stringify(values));
  const { stdout } = await given.catch((error: unknown) => error as { readonly stdout: string });
  return stdout.split('\n').filter((line) => /^\[(ERROR|WARNING)\]/.test(line));
}

function manifestsIn(text: string): readonly Manifest[] {
  return parseAllDocuments(text).flatMap((document) => (document.toJS() as Manifest | null) ?? []);
}

/** Makes the Secret as the guide describes. */
export async function makeSecret(): Promise<Manifest> {
  const folder = await mkdtemp(path.join(tmpdir(), 'lango-secrets-'));
  try {
    await run(path.join(packageRoot(), 'deploy/secrets.sh'), [folder]);
    const { code, stderr } = await langoHere(['keys', 'rotate', '--home', folder]);
    if (code !== 0) throw new Error(stderr);
    await writeFile(path.join(folder, 'anthropic-api-key'), 'sk-test');
    const pair = await certificate('lango');
    await writeFile(path.join(folder, 'tls.crt'), pair.cert);
    await writeFile(path.join(folder, 'tls.key'), pair.key);
    await writeFile(path.join(folder, 'ca.crt'), pair.cert);
    const files = (await readdir(folder, { withFileTypes: true })).filter((one) => one.isFile());
    const entries = files.map(async ({ name }) => {
      return [name, (await readFile(path.join(folder, name))).toString('base64')] as const;
    });
    const metadata = { name: 'lango', namespace: 'lango' };
    return {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata,
      data: Object.fromEntries(await Promise.all(entries)),
    };
  } finally {
    await rm(folder, { recursive: true });
  }
}
