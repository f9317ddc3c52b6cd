import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { format, resolveConfig } from 'prettier';
import { parseAllDocuments, stringify } from 'yaml';
import { packageRoot } from '../src/config/package-root.js';

const CHART = path.join(packageRoot(), 'deploy/helm/lango');
const OF_HELM = /^(helm\.sh\/.*|app\.kubernetes\.io\/managed-by)$/;

/** `npm run manifests`: writes the manifests of each shape for people without Helm. They are what the chart makes. */
if (process.argv[1] === import.meta.filename)
  for (const shape of ['single', 'replicas', 'stack']) {
    const file = path.join(packageRoot(), `deploy/kubernetes/${shape}.yaml`);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, await plainManifests(shape));
    console.log(`wrote ${file}`);
  }

/** The manifests of a shape in the namespace `lango`, without what only Helm reads. */
export async function plainManifests(shape: string, helm = 'helm'): Promise<string> {
  const values = ['--set', `shape=${shape},createNamespace=true`];
  const args = ['template', 'lango', CHART, '--namespace', 'lango', '--no-hooks', ...values];
  const { stdout } = await promisify(execFile)(helm, args);
  const text = parseAllDocuments(stdout)
    .map((document) => stringify(document.toJS({ reviver: withoutHelm })))
    .join('---\n');
  const style = await resolveConfig(path.join(packageRoot(), 'package.json'));
  return format(`# Made from deploy/helm/lango by \`npm run manifests\`: change the chart.\n${text}`, {
    ...style,
    parser: 'yaml',
  });
}

function withoutHelm(key: unknown, value: unknown): unknown {
  return typeof key === 'string' && OF_HELM.test(key) ? undefined : value;
}
