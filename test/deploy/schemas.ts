import path from 'node:path';
import type { Manifest } from './kit.js';

interface Schema {
  (data: unknown): boolean;
  readonly errors?: readonly { readonly instancePath: string; readonly message?: string; keyword: string }[];
}

/** This folder is not among the exports of its package. */
const MONITORING = 'node_modules/@kubernetes-models/prometheus-operator/_schemas';

/** The faults of a manifest that the API of Kubernetes would refuse: wrong and missing values, and unknown fields. */
export async function schemaFindings(manifest: Manifest): Promise<readonly string[]> {
  const { validate } = (await import(schemaOf(manifest))) as { readonly validate: Schema };
  const name = `${manifest.kind} ${manifest.metadata.name}`;
  const unread = new Set<string>();
  // The schemas allow unknown fields, but read each one that they know.
  const isValid = validate(watched(manifest, unread, ''));
  const errors = isValid
    ? []
    : (validate.errors ?? []).map((one) => `${one.instancePath} ${one.keyword} ${one.message ?? ''}`.trim());
  const unknown = [...unread].map((field) => `${field} is no field of it`);
  return [...errors, ...unknown].map((text) => `${name}: ${text}`);
}

function schemaOf({ apiVersion, kind }: Manifest): string {
  const [version = '', group = 'core'] = apiVersion.split('/').toReversed();
  if (group === 'monitoring.coreos.com') {
    const prefix = 'ComGithubPrometheusOperatorPrometheusOperatorPkgApisMonitoring';
    return path.resolve(MONITORING, `${prefix}${capital(version)}${kind}.js`);
  }
  return `kubernetes-models/_schemas/IoK8sApi${capital(group.split('.')[0]!)}${capital(version)}${kind}`;
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/** A view of a value that records in `unread` each field that nobody has read. */
function watched(value: unknown, unread: Set<string>, above: string): unknown {
  if (typeof value !== 'object' || value === null) return value;
  for (const key of Object.keys(value)) unread.add(`${above}/${key}`);
  const seen = new Map<string, unknown>();
  return new Proxy(value, {
    get(target, key, receiver): unknown {
      const child: unknown = Reflect.get(target, key, receiver);
      if (typeof key === 'symbol' || !Object.hasOwn(target, key)) return child;
      const at = `${above}/${key}`;
      unread.delete(at);
      if (!seen.has(at)) seen.set(at, watched(child, unread, at));
      return seen.get(at);
    },
  });
}
