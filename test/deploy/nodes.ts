import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CAPABILITIES } from '../../src/capabilities/index.js';
import { ENV_VARIABLES, SECRET_VARIABLES } from '../../src/config/env.js';
import { fileVariable } from '../../src/config/secret-files.js';
import { langoHere } from '../cli/lango-here.js';
import { secretItems, type Manifest, type Workload } from './kit.js';

const OF_CAPABILITIES = CAPABILITIES.flatMap(({ variables = [] }) => variables.map(({ name }) => name));

const READ: ReadonlySet<string> = new Set([
  ...OF_CAPABILITIES.flatMap((name) => [name, fileVariable(name)]),
  ...Object.values(ENV_VARIABLES).map(({ name }) => name),
  // Read by Node.
  'NODE_EXTRA_CA_CERTS',
  ...SECRET_VARIABLES.map((key) => fileVariable(ENV_VARIABLES[key].name)),
]);
const IN_CONFIG = /\$\{([A-Z_]+)/g;
/** The home directory of the image. */
const HOME = '/data';

interface ShownKey {
  readonly key: string;
  readonly value: unknown;
}

/** A node of the manifests as Lango reads it. */
export interface ReadNode {
  /** The findings of `lango config check`, and variables that Lango does not read. */
  readonly findings: readonly string[];
  /** The keys and values of `lango config show`. */
  readonly keys: ReadonlyMap<string, unknown>;
}

/** Writes the files of a pod into a folder, and reads the configuration there. */
export async function readNode(workload: Workload, manifests: readonly Manifest[]): Promise<ReadNode> {
  const root = await mkdtemp(path.join(tmpdir(), 'lango-pod-'));
  try {
    const texts = await layOut(workload, { manifests, root });
    const env = Object.fromEntries(
      variablesOf(workload).map(([name, value]) => [
        name,
        /^\/(etc|run|data)\//.test(value) ? path.join(root, value) : value,
      ]),
    );
    const options = { env: { ...env, LANGO_HOME: path.join(root, HOME) } };
    const config = texts.get(env['LANGO_CONFIG'] ?? '') ?? '';
    const inConfig = new Set(Array.from(config.matchAll(IN_CONFIG), ([, name]) => name!));
    const unread = Object.keys(env).filter((name) => !READ.has(name) && !inConfig.has(name));
    const check = await langoHere(['config', 'check'], options);
    const shown = await langoHere(['config', 'show', '--json'], options);
    const { keys = [] } = JSON.parse(shown.stdout || '{}') as { keys?: readonly ShownKey[] };
    return {
      findings: [
        ...unread.map((name) => `${workload.name}: Lango does not read ${name}`),
        ...(check.code === 0 ? [] : [`${workload.name}: ${check.stdout}${check.stderr}`]),
      ],
      keys: new Map(keys.map(({ key, value }) => [key, value])),
    };
  } finally {
    await rm(root, { recursive: true });
  }
}

/** Writes the mounted files below `root`. Returns their texts by their paths in the pod. */
async function layOut(
  { pod }: Workload,
  { manifests, root }: { readonly manifests: readonly Manifest[]; readonly root: string },
): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  const dataOf = (kind: string, wanted: string) =>
    manifests.find((one) => one.kind === kind && one.metadata.name === wanted)?.data ?? {};
  await mkdir(path.join(root, HOME), { mode: 0o700 });
  for (const { name, mountPath } of pod.containers[0].volumeMounts ?? []) {
    const volume = pod.volumes.find((one) => one.name === name) ?? { name };
    const { configMap } = volume;
    const files = new Map<string, string>();
    for (const [file, text] of Object.entries(configMap ? dataOf('ConfigMap', configMap.name) : {}))
      files.set(file, text);
    for (const { name: secret, key, path: file } of secretItems(volume)) {
      const sealed = dataOf('Secret', secret)[key];
      if (sealed !== undefined) files.set(file, Buffer.from(sealed, 'base64').toString());
    }
    for (const [file, text] of files) {
      const at = path.join(root, mountPath, file);
      await mkdir(path.dirname(at), { recursive: true });
      await writeFile(at, text, { mode: configMap ? 0o644 : 0o440 });
      texts.set(at, text);
    }
  }
  return texts;
}

/** The variables of a container as the kubelet sets them. */
export function variablesOf({ pod, namespace }: Workload): readonly (readonly [string, string])[] {
  const known = new Map<string, string>();
  for (const { name, value, valueFrom } of pod.containers[0].env ?? []) {
    if (valueFrom?.secretKeyRef?.optional) continue;
    const text = value ?? (valueFrom?.fieldRef ? namespace : 'of-the-secret');
    known.set(
      name,
      text.replace(/\$\(([A-Z_]+)\)/g, (reference, other: string) => known.get(other) ?? reference),
    );
  }
  return [...known];
}
