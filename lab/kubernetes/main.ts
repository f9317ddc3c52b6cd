import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { commandLine } from '../command-line.js';
import type { ClientFigures } from './child.js';
import { drain, killServer, Release, type Pod, type Shape } from './cluster.js';
import { openCluster } from './machines.js';
import { addStandby, promote } from './standby.js';
import { endWaiting, prepareWaiting, scaleByWaiting } from './waiting.js';

/** `npm run kubernetes`: each fault comes to each shape of the chart while tasks run on a real cluster. */
const about = `Installs the chart three times on a cluster, into namespaces of its own, and lets faults come to it while
tasks run. Without KUBECONFIG it makes a cluster of two machines on this one, with images of this clone, and ends it at
the end. The machines of KUBECONFIG need the images lango, lango-full and lango-database with the chart's version, and
SIGKILL needs them to be on this one. Exits with 1 when a task is lost, done twice or refused.`;
const SHAPES: readonly Shape[] = ['single', 'replicas', 'stack'];

const FAULTS = {
  /** All pods are replaced, as by an upgrade. */
  rollout: async (release) => {
    await release.kubectl('rollout', 'restart', 'deployment', '--selector', 'app.kubernetes.io/name=lango');
  },
  drain: async (release) => drain((await release.pods(release.worker))[0]!.machine),
  delete: (release) => each(release, ({ name }) => release.kubectl('delete', 'pod', name)),
  force: (release) =>
    each(release, ({ name }) => release.kubectl('delete', 'pod', name, '--force', '--grace-period=0')),
  kill: (release) => each(release, killServer),
  /** From one replica to three and back. */
  scale: async (release) => {
    await release.kubectl('scale', 'deployment/lango', '--replicas=1');
    await release.settle();
    await release.kubectl('scale', 'deployment/lango', '--replicas=3');
    await release.settle();
    await release.kubectl('scale', 'deployment/lango', '--replicas=1');
    await release.settle();
    await release.kubectl('scale', 'deployment/lango', '--replicas=2');
  },
  database: async (release) => {
    await release.kubectl(
      'delete',
      'pod',
      (await release.pods('database'))[0]!.name,
      '--force',
      '--grace-period=0',
    );
  },
  /** As many replicas as the autoscaler wants, at a load that one of them cannot carry. */
  autoscale: (release) => release.untilReplicas(3),
  /** As many replicas as an autoscaler by waiting tasks wants, and one again when few wait, while tasks still come. */
  waiting: scaleByWaiting,
  /** The database dies for good, and its standby takes over. It is the last fault of a release. */
  failover: promote,
} satisfies Readonly<Record<string, (release: Release) => Promise<void>>>;
type Fault = keyof typeof FAULTS;
const ALL = Object.keys(FAULTS) as Fault[];
/** Those that need nothing else on the cluster. */
const DEFAULT = ALL.filter((fault) => fault !== 'waiting');
/** Faults of parts that one node has not. */
const OF_REPLICAS: readonly Fault[] = ['scale', 'database', 'autoscale', 'waiting', 'failover'];
/** Preparations for a fault, before the tasks begin, and for what follows it. */
const AROUND: Partial<
  Record<Fault, Readonly<Record<'before' | 'after', (release: Release) => Promise<void>>>>
> = {
  autoscale: {
    before: (release) =>
      release.upgrade({
        autoscaling: { enabled: true, minReplicas: 1, maxReplicas: 3, targetCpuPercent: 20 },
      }),
    after: async (release) => {
      // Not by Helm: the number of replicas belongs to the autoscaler now.
      await release.kubectl('delete', 'horizontalpodautoscaler', 'lango');
      await release.kubectl('scale', 'deployment/lango', '--replicas=2');
    },
  },
  waiting: { before: prepareWaiting, after: endWaiting },
  failover: { before: addStandby, after: async () => undefined },
};
/** The fault comes when so many tasks are accepted. */
const BEFORE = 10;
/** So many tasks follow slowly, until the autoscaler has ended the replicas of the others: twelve minutes. */
const TAIL = 144;

interface Row extends ClientFigures {
  readonly shape: Shape;
  readonly fault: Fault;
  /** Tasks whose command ran more than once, or not at all although nobody was asked. */
  readonly twice: number;
  readonly undone: number;
}

const values = commandLine('kubernetes', about, {
  shapes: { default: SHAPES.join(), text: 'which shapes' },
  faults: {
    default: DEFAULT.join(),
    text: 'which faults; `waiting`, which needs KEDA, only when it is named',
  },
  tasks: { default: 60, text: 'how many tasks for each' },
  out: { default: '', text: 'a file for the figures as JSON' },
  keep: { default: false, text: 'leaves the releases on the cluster' },
});

const rows: Row[] = [];
const faults = ALL.filter((one) => values.faults.split(',').includes(one));
const close = await openCluster(faults.includes('waiting'));
for (const shape of SHAPES.filter((one) => values.shapes.split(',').includes(one))) {
  const release = new Release(shape);
  await release.remove();
  await release.install();
  for (const fault of faults) {
    if (shape === 'single' && OF_REPLICAS.includes(fault)) continue;
    const row = await strike(release, fault);
    rows.push(row);
    console.log(JSON.stringify(row));
    if (values.out) await writeFile(values.out, JSON.stringify(rows, null, 2));
  }
  if (!values.keep) await release.remove();
}
console.log(table(rows));
await close();
process.exit(
  rows.every((row) => row.lost + row.twice + row.undone + row.rejected + row.failed === 0) ? 0 : 1,
);

/** Does something to the pod that runs commands and to each front pod, one after the other: one of them has the work. */
async function each(release: Release, act: (pod: Pod) => Promise<unknown>): Promise<void> {
  const pods = [...(await release.pods(release.worker)), ...(await release.pods('front'))];
  const once = new Map(pods.map((pod) => [pod.name, pod]));
  for (const pod of once.values()) {
    await act(pod);
    await release.settle();
  }
}

/** Runs the tasks with one fault in their midst, and counts what came of it. */
async function strike(release: Release, fault: Fault): Promise<Row> {
  const { shape } = release;
  await AROUND[fault]?.before(release);
  await release.settle();
  const name = `${fault}-${Date.now()}`;
  const [worker] = await release.pods(release.worker);
  // The autoscaler looks every 15 seconds.
  const tasks = fault === 'autoscale' ? values.tasks * 4 : values.tasks;
  const tail = fault === 'waiting' ? TAIL : 0;
  const count = tasks + tail;
  await release.startClient({ name, tasks, tail, away: worker!.machine });
  await release.clientLog(new RegExp(`^accepted ${Math.min(BEFORE, count)}$`, 'm'));
  await FAULTS[fault](release);
  const [, text = ''] = await release.clientLog(/^figures (.*)$/m);
  const figures = JSON.parse(text) as ClientFigures;
  await release.settle();
  await sleep(1_000);
  const marks = Map.groupBy(await release.marks(name), (mark) => mark);
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  const times = (number: number) => marks.get(String(number))?.length ?? 0;
  await AROUND[fault]?.after(release);
  return {
    ...{ shape, fault, ...figures },
    twice: numbers.filter((number) => times(number) > 1).length,
    undone: numbers.filter((number) => times(number) === 0 && !figures.asked.includes(number)).length,
  };
}

function table(all: readonly Row[]): string {
  const head = [
    'shape',
    'fault',
    'completed',
    'asked',
    'lost',
    'twice',
    'undone',
    'rejected',
    'failed',
    'slowest',
  ];
  const lines = all.map((row) => [
    ...[row.shape, row.fault, row.completed, row.asked.length, row.lost, row.twice, row.undone],
    ...[row.rejected, row.failed, `${Math.round(row.slowestSeconds)} s`],
  ]);
  return [head, head.map(() => '---'), ...lines].map((line) => `| ${line.join(' | ')} |`).join('\n');
}
