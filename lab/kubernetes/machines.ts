import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { packageRoot } from '../../src/config/package-root.js';
import { buildWaiting, WAITING_IMAGES } from './waiting.js';

const run = promisify(execFile);
/** The folder of `docker-here` and `kube-here`, which make an engine and a cluster of two machines on this one. */
const TOOLS = process.env['LANGO_CLUSTER_TOOLS'] ?? path.join(packageRoot(), '../shared/bin');

const IMAGES = [
  { name: 'lango', args: ['--target', 'lango', '.'] },
  { name: 'lango-full', args: ['--target', 'full', '.'] },
  { name: 'lango-database', args: ['deploy/database'] },
] as const;

/**
 * Makes the cluster that `kubectl` then uses, builds the images of this clone and loads them. With KUBECONFIG, that cluster is
 * used as it is. For `waiting` it builds KEDA and a Prometheus too. Resolves with the function that ends what was started.
 */
export async function openCluster(waiting: boolean): Promise<() => Promise<void>> {
  if (process.env['KUBECONFIG']) return async () => undefined;
  const [docker, kube] = ['docker-here', 'kube-here'].map((name) => path.join(TOOLS, name));
  if (!existsSync(docker!) || !existsSync(kube!)) {
    console.error(`There is no cluster. Set KUBECONFIG to that of a cluster whose machines have the images
${IMAGES.map(({ name }) => name).join(', ')} with the version of deploy/helm/lango/Chart.yaml, or set LANGO_CLUSTER_TOOLS
to a folder with docker-here and kube-here, which make one on this machine (Debian, root; 25 minutes the first time).`);
    process.exit(2);
  }
  const close = async (): Promise<void> => {
    await run(kube!, ['stop']);
    await run(docker!, ['stop']);
  };
  try {
    await start(docker!);
    const version = await chartVersion();
    for (const { name, args } of IMAGES) {
      console.log(`building ${name}:${version}`);
      await inRoot('docker', ['build', '--network', 'host', '--tag', `${name}:${version}`, ...args]);
    }
    if (waiting) {
      console.log('building KEDA, the first time for long');
      await buildWaiting();
    }
    console.log('starting the cluster');
    await start(kube!);
    const images = [...IMAGES.map(({ name }) => `${name}:${version}`), ...(waiting ? WAITING_IMAGES : [])];
    for (const image of images) await run(kube!, ['load', image]);
  } catch (error) {
    await close();
    throw error;
  }
  return close;
}

/** Starts one of them, and takes over the variables that it prints. */
async function start(tool: string): Promise<void> {
  const { stdout } = await inRoot(tool, ['start']);
  for (const [, name, value] of stdout.matchAll(/\b([A-Z_]+)=(\S+)/g))
    process.env[name!] = value!.replace('$PATH', process.env['PATH']!);
}

const inRoot = (program: string, args: readonly string[]) =>
  run(program, args, { cwd: packageRoot(), maxBuffer: 1e8 });

async function chartVersion(): Promise<string> {
  const chart = await readFile(path.join(packageRoot(), 'deploy/helm/lango/Chart.yaml'), 'utf8');
  return /^appVersion: (\S+)/m.exec(chart)![1]!;
}
