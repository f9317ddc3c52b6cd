import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * The client of one run, in a pod of the cluster: sends tasks that each write one line, follows them to their end, and
 * prints what became of them. It imports nothing else, because the pod has just this file.
 * Arguments: the address of the Service, the name of the run, the number of tasks, the number of those that follow slowly.
 */
const [, , url = '', run = '', count = '', tail = ''] = process.argv;
const PACE_MS = 400;
const TAIL_PACE_MS = 5_000;
const CALL_MS = 20_000;
const END_MS = 240_000;

export interface ClientFigures {
  readonly completed: number;
  /** The numbers of tasks about which a person was asked whether their command runs again. */
  readonly asked: readonly number[];
  readonly rejected: number;
  readonly failed: number;
  /** Acknowledged tasks that ended never, or that the server does not know. */
  readonly lost: number;
  /** Messages that were sent more than once, because a connection broke or the server said 503. */
  readonly repeated: number;
  readonly slowestSeconds: number;
}

interface Answer {
  readonly result?: { readonly task?: Task } & Partial<Task>;
  readonly error?: { readonly code: number; readonly message: string };
}
interface Task {
  readonly id: string;
  readonly status: { readonly state: string };
}

const token = (await readFile(process.env['LANGO_TOKEN_FILE']!, 'utf8')).trim();

async function call(method: string, params: object): Promise<Answer | undefined> {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'a2a-version': '1.0',
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body,
      signal: AbortSignal.timeout(CALL_MS),
    });
    return response.status >= 500 ? undefined : ((await response.json()) as Answer);
  } catch {
    return undefined;
  }
}

/** Sends a message until it is acknowledged. */
async function send(messageId: string, text: string, taskId?: string) {
  const message = { messageId, role: 'ROLE_USER', parts: [{ text }], ...(taskId && { taskId }) };
  for (let sends = 1; ; sends += 1) {
    const answer = await call('SendMessage', { message, configuration: { returnImmediately: true } });
    if (answer?.result?.task) return { taskId: answer.result.task.id, sends };
    if (answer?.error && taskId) return { taskId, sends };
    if (answer?.error) console.error(JSON.stringify(answer.error));
    await sleep(300);
  }
}

async function one(number: number) {
  const begun = Date.now();
  const text = `run sleep 1; echo ${number} >> marks-${run}`;
  const { taskId, sends } = await send(`${run}-${number}`, text);
  console.log(`accepted ${number}`);
  let asked = false;
  let state = '';
  while (Date.now() < begun + END_MS) {
    state = (await call('GetTask', { id: taskId }))?.result?.status?.state ?? state;
    if (/COMPLETED|CANCELED|FAILED|REJECTED/.test(state)) break;
    if (state === 'TASK_STATE_INPUT_REQUIRED') {
      if (!asked) await send(`${run}-${number}-no`, 'deny', taskId);
      asked = true;
    }
    await sleep(500);
  }
  return { number, state, asked, sends, seconds: (Date.now() - begun) / 1_000 };
}

const tasks: ReturnType<typeof one>[] = [];
for (let number = 1; number <= Number(count) + Number(tail); number += 1) {
  tasks.push(one(number));
  await sleep(number < Number(count) ? PACE_MS : TAIL_PACE_MS);
}
const ended = await Promise.all(tasks);
const states = (name: string) => ended.filter(({ state }) => state === `TASK_STATE_${name}`).length;
const figures: ClientFigures = {
  completed: states('COMPLETED'),
  asked: ended.filter(({ asked }) => asked).map(({ number }) => number),
  rejected: states('REJECTED'),
  failed: states('FAILED') + states('CANCELED'),
  lost: ended.filter(({ state }) => !/COMPLETED|CANCELED|FAILED|REJECTED/.test(state)).length,
  repeated: ended.filter(({ sends }) => sends > 1).length,
  slowestSeconds: Math.max(...ended.map(({ seconds }) => seconds)),
};
console.log(`figures ${JSON.stringify(figures)}`);
