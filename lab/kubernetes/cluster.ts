import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { packageRoot } from '../../src/config/package-root.js';

export type Shape = 'single' | 'replicas' | 'stack';
export interface Pod {
  readonly name: string;
  readonly uid: string;
  readonly machine: string;
}

/** The tasks of a client: many at once, and a tail of single ones. Its pod is not on the machine `away`. */
interface ClientRun {
  readonly name: string;
  readonly tasks: number;
  readonly tail: number;
  readonly away: string;
}

const run = promisify(execFile);
const CLIENT = 'client';

/** A release of the chart in a namespace of its own, on the cluster of KUBECONFIG. */
export class Release {
  readonly shape: Shape;
  readonly namespace: string;

  constructor(shape: Shape) {
    this.shape = shape;
    this.namespace = `lango-lab-${shape}`;
  }

  /** The component whose pods run the commands of tasks. */
  get worker(): string {
    return this.shape === 'stack' ? 'operator' : 'front';
  }

  /** Installs the chart with secrets as the guide makes them, and tests it. */
  async install(values: Readonly<Record<string, unknown>> = {}): Promise<void> {
    const secrets = await mkdtemp(path.join(tmpdir(), 'lango-lab-'));
    try {
      await run(path.join(packageRoot(), 'deploy/secrets.sh'), [secrets]);
      const main = path.join(packageRoot(), 'dist/cli/main.js');
      await run(process.execPath, [main, 'keys', 'rotate', '--home', secrets]);
      await run('kubectl', ['create', 'namespace', this.namespace]);
      await this.kubectl('create', 'secret', 'generic', 'lango', '--from-file', secrets);
    } finally {
      await rm(secrets, { recursive: true });
    }
    const client = path.join(packageRoot(), 'dist/lab/kubernetes/child.js');
    await this.kubectl('create', 'configmap', CLIENT, `--from-file=child.mjs=${client}`);
    await this.upgrade(values);
    await this.helm('test', 'lango');
  }

  /** Installs or upgrades the release, and waits until it is ready. The number of replicas is the caller's. */
  async upgrade(values: Readonly<Record<string, unknown>>): Promise<void> {
    const all = {
      shape: this.shape,
      database: { trial: { enabled: this.shape !== 'single', size: '1Gi' } },
      autoscaling: { enabled: false },
      ...values,
    };
    const chart = path.join(packageRoot(), 'deploy/helm/lango');
    const given = run('helm', [
      ...['upgrade', '--install', 'lango', chart, '--namespace', this.namespace, '--values', '-'],
      ...['--wait', '--timeout', '6m'],
    ]);
    given.child.stdin!.end(JSON.stringify(all));
    await given;
  }

  async remove(): Promise<void> {
    await run('kubectl', ['delete', 'namespace', this.namespace, '--ignore-not-found', '--timeout=180s']);
  }

  async kubectl(...args: readonly string[]): Promise<string> {
    return (await run('kubectl', ['--namespace', this.namespace, ...args], { maxBuffer: 1e8 })).stdout;
  }

  async helm(...args: readonly string[]): Promise<string> {
    return (await run('helm', ['--namespace', this.namespace, ...args])).stdout;
  }

  async pods(component: string): Promise<readonly Pod[]> {
    const shown = '{range .items[*]}{.metadata.name} {.metadata.uid} {.spec.nodeName}{"\\n"}{end}';
    const selector =
      component === 'database' ? 'app.kubernetes.io/name=lango-database' : componentIs(component);
    const text = await this.kubectl('get', 'pod', '--selector', selector, '--output', `jsonpath=${shown}`);
    const lines = text.trim().split('\n').filter(Boolean);
    return lines.map((line) => {
      const [name = '', uid = '', machine = ''] = line.split(' ');
      return { name, uid, machine };
    });
  }

  /** Waits until all Deployments have the pods that they ask for. */
  async settle(): Promise<void> {
    const names = (await this.kubectl('get', 'deployment', '--output', 'name')).trim().split('\n');
    for (const name of names) await this.kubectl('rollout', 'status', name, '--timeout=300s');
  }

  /** Waits until the autoscaler has left so many replicas, or made them. */
  async untilReplicas(count: number, seconds = 300): Promise<void> {
    await this.kubectl(
      'wait',
      'deployment/lango',
      `--for=jsonpath={.status.readyReplicas}=${count}`,
      `--timeout=${seconds}s`,
    );
  }

  /** Makes an object, or changes it. */
  async apply(object: object): Promise<void> {
    const given = run('kubectl', ['--namespace', this.namespace, 'apply', '--filename', '-']);
    given.child.stdin!.end(JSON.stringify(object));
    await given;
  }

  /** The image of the front node. */
  image(): Promise<string> {
    const shown = 'jsonpath={.spec.template.spec.containers[0].image}';
    return this.kubectl('get', 'deployment', 'lango', '--output', shown);
  }

  /** Starts the client on a machine that is not `away`. */
  async startClient({ name, tasks, tail, away }: ClientRun): Promise<void> {
    await this.kubectl('delete', 'pod', CLIENT, '--ignore-not-found', '--force', '--grace-period=0');
    const machines = (await run('kubectl', ['get', 'node', '--output', 'name'])).stdout.trim().split('\n');
    const machine = machines.map((one) => one.replace('node/', '')).find((one) => one !== away);
    const image = await this.image();
    const spec = {
      ...{ nodeName: machine, restartPolicy: 'Never', securityContext: { runAsUser: 1000, fsGroup: 1000 } },
      containers: [
        {
          ...{ name: CLIENT, image, command: ['node', '/client/child.mjs'] },
          args: ['http://lango:4100/', name, String(tasks), String(tail)],
          env: [{ name: 'LANGO_TOKEN_FILE', value: '/secrets/token' }],
          volumeMounts: [
            { name: 'client', mountPath: '/client' },
            { name: 'secrets', mountPath: '/secrets' },
          ],
        },
      ],
      volumes: [
        { name: 'client', configMap: { name: CLIENT } },
        { name: 'secrets', secret: { secretName: 'lango', items: [{ key: 'token', path: 'token' }] } },
      ],
    };
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: CLIENT, namespace: this.namespace },
      spec,
    };
    await this.apply(pod);
  }

  /** Resolves with what the client has printed, once it holds `wanted`. */
  async clientLog(wanted: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const text = await this.kubectl('logs', CLIENT).catch(() => '');
      const found = wanted.exec(text);
      if (found) return found;
      await sleep(500);
    }
  }

  /** The lines that the commands of a run wrote. */
  async marks(name: string): Promise<readonly string[]> {
    const target = this.shape === 'stack' ? 'deployment/lango-operator' : 'deployment/lango';
    const script = `find /data/workspace -name marks-${name} -exec cat {} +`;
    const text = await this.kubectl('exec', target, '--container', 'lango', '--', 'sh', '-c', script);
    return text.trim().split('\n').filter(Boolean);
  }
}

function componentIs(component: string): string {
  return `app.kubernetes.io/name=lango,app.kubernetes.io/component=${component}`;
}

/** Kills the servers of a pod with SIGKILL, when its machine is this one. */
export async function killServer({ name, uid }: Pod): Promise<void> {
  const marks = [uid, uid.replaceAll('-', '_')];
  const pids = (await readdir('/proc')).filter((one) => /^\d+$/.test(one));
  let killed = 0;
  for (const pid of pids) {
    const [cgroup, command] = await Promise.all(
      ['cgroup', 'cmdline'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')),
    );
    if (!marks.some((mark) => cgroup!.includes(mark)) || !command!.includes('main.js')) continue;
    process.kill(Number(pid), 'SIGKILL');
    killed += 1;
  }
  if (killed === 0) throw new Error(`The server of ${name} does not run on this machine.`);
}

/** Moves all pods away from a machine, and lets it have pods again. */
export async function drain(machine: string): Promise<void> {
  const args = ['--ignore-daemonsets', '--delete-emptydir-data', '--force', '--timeout=240s'];
  await run('kubectl', ['drain', machine, ...args]);
  await run('kubectl', ['uncordon', machine]);
}
