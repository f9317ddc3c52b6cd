import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { valueAt } from './config.js';
import { describeConfig } from './describe.js';
import type { LoadedConfig } from './load.js';
import { packageRoot, packageVersion } from './package-root.js';
import { LangoError } from '../core/errors.js';
import { isJsonObject, mapMembers, type Json } from '../core/json.js';

/** The shape of the deployment, its namespace, and the source of its images. */
export type Deployment = Readonly<{ shape: string; namespace: string; registry?: string; tag?: string }>;

interface Container {
  image: string;
  readonly name: string;
  readonly env: { readonly name: string; readonly value?: string; readonly valueFrom?: object }[];
}

/** The parts of a manifest that the command reads or changes. */
interface Manifest {
  readonly kind: string;
  readonly metadata: { name: string; namespace?: string; readonly labels?: Readonly<Record<string, string>> };
  readonly data?: Record<string, string>;
  readonly spec?: {
    readonly template: {
      readonly metadata: { readonly annotations: Record<string, string> };
      readonly spec: { readonly containers: Container[]; readonly initContainers?: Container[] };
    };
  };
}

const NAMED = /\$?\$\{([A-Za-z_]\w*)(:-)?/g;

/**
 * The manifests of a shape, whose front node has the configuration file. Throws `invalid-config` when a secret stands in
 * the file, because a ConfigMap is no place for it.
 */
export async function kubernetesManifests(loaded: LoadedConfig, deployment: Deployment): Promise<string> {
  const { file } = loaded.config;
  const given = file === undefined ? {} : ((parse(await readFile(file, 'utf8')) ?? {}) as Json);
  const open = describeConfig(loaded).find(({ key, value }) => {
    const written = valueAt(given, key);
    return value === 'set' && typeof written === 'string' && written !== 'set' && !written.includes('${');
  });
  if (open) {
    const hint =
      'Write ${NAME} there, and the value into the Secret lango: the name in small letters, with - for _, is the key.';
    throw new LangoError('invalid-config', `${open.key} in ${file} is a secret.`, { hint });
  }
  const shipped = join(packageRoot(), `deploy/kubernetes/${deployment.shape}.yaml`);
  const manifests = parseAllDocuments(await readFile(shipped, 'utf8')).map((one) => one.toJS() as Manifest);
  for (const manifest of manifests) place(manifest, deployment);
  configure(manifests, given);
  return manifests
    .map((one) => stringify(one))
    .join('---\n')
    .trimEnd();
}

/** Gives a manifest its namespace and its images. */
function place({ kind, metadata, spec }: Manifest, deployment: Deployment): void {
  const { namespace, registry, tag = packageVersion() } = deployment;
  if (kind === 'Namespace') metadata.name = namespace;
  else metadata.namespace = namespace;
  const pod = kind === 'Deployment' ? spec!.template.spec : { containers: [] };
  for (const container of [...pod.containers, ...(pod.initContainers ?? [])]) {
    const image = `${container.image.split(':')[0]}:${tag}`;
    container.image = registry === undefined ? image : `${registry}/${image}`;
  }
}

/**
 * Puts the configuration over that of the front node, which keeps its address. A variable that the pod does not have
 * becomes a key of the Secret.
 */
function configure(manifests: readonly Manifest[], given: Json): void {
  const { data } = manifests.find(({ kind }) => kind === 'ConfigMap')!;
  const front = manifests.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'lango')!;
  const { metadata, spec } = front.spec!.template;
  const [{ env }] = spec.containers as [Container];
  const file = basename(env.find(({ name }) => name === 'LANGO_CONFIG')!.value!);
  const own = parse(data![file]!) as { readonly server: { host: string; port: string } };
  const { host, port } = own.server;
  const text = stringify(over(over(own, given), { server: { host, port } }));
  data![file] = text;
  metadata.annotations['checksum/config'] = createHash('sha256').update(text).digest('hex');
  const known = new Set(env.map(({ name }) => name.replace(/_FILE$/, '')));
  for (const [match, name = '', fallback] of stringify(given).matchAll(NAMED)) {
    if (match.startsWith('$$') || known.has(name)) continue;
    known.add(name);
    const key = name.toLowerCase().replaceAll('_', '-');
    const secretKeyRef = { name: 'lango', key, ...(fallback && { optional: true }) };
    env.push({ name, valueFrom: { secretKeyRef } });
  }
}

/** The groups of both, with the values of `given` where it has some. A list replaces a list. */
function over(own: Json | undefined, given: Json): Json {
  if (!isJsonObject(own) || !isJsonObject(given)) return given;
  return { ...own, ...mapMembers(given, (value, key) => over(own[key], value!)) };
}
