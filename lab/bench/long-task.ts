import type { Figure } from './figures.js';
import { figureOf, ratios } from './figures.js';
import { drive, measure } from './load.js';
import { requireText } from './requests.js';
import type { Scenario } from './scenario.js';
import { inTurns } from './scenario.js';
import type { Kind, Target } from './target.js';

const SHORT = 10;
const LONG = 1_000;
const CONNECTIONS = 8;
const WAITING = '"TASK_STATE_INPUT_REQUIRED"';

/** Measures the cost of a message that follows 10 or 1,000 others in one task. */
export const longTask: Scenario = async ({ start, sizes }) => {
  const figures: Figure[] = [];
  for (const kind of ['lango', 'lango-executor'] as const) {
    const target = await start(kind);
    const long = await taskOf(target, LONG);
    const sides = {
      short: async () => {
        const tasks: string[] = [];
        for (let made = 0; made < sizes.messages; made += 1) tasks.push(await taskOf(target, SHORT));
        return followUps(target, tasks);
      },
      long: () => followUps(target, Array<string>(sizes.messages).fill(long)),
    };
    await inTurns(1, sides); // until the code is compiled
    figures.push(...figuresOf(kind, await inTurns(sizes.rounds, sides)));
    await target.stop();
  }
  return figures;
};

/** Begins a task that waits for its next message, and sends it this number of messages. */
async function taskOf(target: Target, messages: number): Promise<string> {
  let id = '';
  const check = (answer: { text(): string; readonly status: number }): void => {
    requireText(answer, WAITING);
    id = /"task":\{"id":"([^"]+)"/.exec(answer.text())?.[1] ?? id;
  };
  const call = () => ({ method: 'SendMessage', text: 'ask', taskId: id }) as const;
  await drive(target, { connections: 1, requests: messages, call, check });
  return id;
}

/** CPU of one further message, in microseconds. */
async function followUps(target: Target, tasks: readonly string[]): Promise<number> {
  const { cpu } = await measure(target, {
    connections: 1,
    requests: tasks.length,
    call: (index) => ({ method: 'SendMessage', text: 'ask', taskId: tasks[index]! }),
    check: (answer) => requireText(answer, WAITING),
  });
  return cpu / tasks.length;
}

function figuresOf(kind: Kind, reports: ReadonlyMap<string, readonly number[]>): readonly Figure[] {
  const [short, long] = [reports.get('short')!, reports.get('long')!];
  const own = kind === 'lango';
  const result = { of: `${LONG} / ${SHORT}`, rounds: ratios(long, short), atMost: own ? 1.2 : 3 };
  const id = `task.${own ? 'own' : 'executor'}`;
  const title = `CPU of a message to ${own ? 'a task' : 'a task of an executor'} with ${SHORT} others`;
  return [
    figureOf({ id: `${id}.short`, title, unit: 'µs', samples: { lango: short } }),
    figureOf({
      id: `${id}.long`,
      title: `  with ${LONG} others`,
      unit: 'µs',
      samples: { lango: long },
      result,
    }),
  ];
}

/** Measures the first page of a caller's tasks when there are many. */
export const list: Scenario = async ({ start, sizes }) => {
  const target = await start('lango');
  const requests = sizes.listedTasks;
  const echo = () => ({ method: 'SendMessage', text: 'echo' }) as const;
  await drive(target, { connections: CONNECTIONS, requests, call: echo });
  const ask = async (): Promise<number> => {
    const { cpu } = await measure(target, {
      connections: 1,
      requests: LISTS,
      call: () => ({ method: 'ListTasks', params: {} }),
      check: (answer) => requireText(answer, `"totalSize":${requests}`),
    });
    return cpu / LISTS / 1_000;
  };
  await ask(); // until its code is compiled
  const samples = Object.fromEntries(await inTurns(sizes.rounds, { lango: ask }));
  return [
    figureOf({
      id: 'list',
      title: `CPU of ListTasks of ${requests.toLocaleString('en-US')}`,
      unit: 'ms',
      samples,
      result: { of: 'lango', rounds: samples['lango']!, atMost: 0.6 },
    }),
  ];
};

const LISTS = 200;
