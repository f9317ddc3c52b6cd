import { execFile, spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { packageRoot } from '../../src/config/package-root.js';
import { lango } from '../cli/lango-process.js';

const run = promisify(execFile);

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
  readonly valueFrom?: { readonly fieldRef: { readonly fieldPath: string } };
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

export interface Volume {
  readonly name: string;
  readonly configMap?: { name: string };
  readonly secret?: { secretName: string; readonly items?: readonly { key: string; path: string }[] };
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

/**
 * The command line that builds a kustomization on this machine, without its folder. Undefined when no such program is
 * installed.
 */
export function findBuilder(): readonly string[] | undefined {
  const builders = [
    ['kustomize', 'build'],
    ['kubectl', 'kustomize'],
  ];
  return builders.find(([file, ...args]) => spawnSync(file!, [...args, '--help']).status === 0);
}

/** A copy of deploy/ with secrets of its own, and a folder for overlays of users. */
export class Kit {
  readonly #folder: string;
  readonly #builder: readonly string[];

  private constructor(folder: string, builder: readonly string[]) {
    this.#folder = folder;
    this.#builder = builder;
  }

  /** Creates the secrets as the guide describes. */
  static async open(builder: readonly string[]): Promise<Kit> {
    const folder = await mkdtemp(path.join(tmpdir(), 'lango-kit-'));
    await cp(path.join(packageRoot(), 'deploy'), path.join(folder, 'deploy'), { recursive: true });
    const secrets = path.join(folder, 'deploy/kubernetes/secrets');
    await run(path.join(folder, 'deploy/secrets.sh'), [secrets]);
    const { code, stderr } = await lango(['keys', 'rotate', '--home', secrets]);
    if (code !== 0) throw new Error(stderr);
    await writeFile(path.join(secrets, 'anthropic-api-key'), 'sk-test');
    await writeFile(path.join(folder, 'deploy/kubernetes/database-ca/ca.crt'), 'a certificate');
    return new Kit(folder, builder);
  }

  /** The manifests of an overlay of this kit, with those of its Secret. */
  async build(overlay: string, components: readonly string[] = []): Promise<Manifest[]> {
    const kit = '../deploy/kubernetes';
    const own = path.join(this.#folder, 'own');
    await mkdir(own, { recursive: true });
    const kustomization = {
      apiVersion: 'kustomize.config.k8s.io/v1beta1',
      kind: 'Kustomization',
      resources: [`${kit}/${overlay}`, `${kit}/secrets`],
      components: components.map((name) => `${kit}/${name}`),
    };
    await writeFile(path.join(own, 'kustomization.yaml'), JSON.stringify(kustomization));
    return this.#manifestsOf(own);
  }

  /** The manifests of an overlay that a user writes beside the kit. */
  async buildOwn(files: ReadonlyMap<string, string>): Promise<Manifest[]> {
    const own = path.join(this.#folder, 'deploy/kubernetes/mine');
    await mkdir(own);
    for (const [name, text] of files) await writeFile(path.join(own, name), text);
    return this.#manifestsOf(own);
  }

  async #manifestsOf(folder: string): Promise<Manifest[]> {
    const [file, ...args] = this.#builder;
    const { stdout } = await run(file!, [...args, folder]);
    return parseAllDocuments(stdout).map((document) => withoutBreaks(document.toJS() as Manifest));
  }

  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true });
  }
}

/** The lines of long values are broken in a Secret. */
function withoutBreaks(manifest: Manifest): Manifest {
  if (manifest.kind !== 'Secret') return manifest;
  const { data = {} } = manifest;
  const whole = Object.entries(data).map(([key, text]) => [key, text.replaceAll('\n', '')]);
  return { ...manifest, data: Object.fromEntries(whole) as Readonly<Record<string, string>> };
}
