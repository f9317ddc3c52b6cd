import { TaskState } from '@a2a-js/sdk';
import { besideStock } from './compare.js';
import { ENDED, begin, get, message, orSilence, untilIn } from './sides.js';

/** Table 3.2: what work costs, what survives, and what is bounded. */

const { TASK_STATE_WORKING, TASK_STATE_COMPLETED, TASK_STATE_INPUT_REQUIRED } = TaskState;
const SILENCE_MS = 1_500;
const KB = 1_024;

besideStock(
  'a server that is asked for much',
  [
    {
      line: '3.2 #3 a task goes on when its process is replaced by another',
      async agent({ say, told, count }) {
        if (count === 1) {
          say.open();
          say.status(TASK_STATE_WORKING);
          return told;
        }
        say.status(TASK_STATE_COMPLETED);
      },
      async ask(side) {
        const { id } = await begin(side);
        await untilIn(side, id, 'WORKING');
        await side.restart();
        await orSilence(untilIn(side, id, ...ENDED), SILENCE_MS);
        return (await get(side, id)).status.state;
      },
      ours: 'TASK_STATE_COMPLETED',
      stock: 'TASK_STATE_WORKING',
    },
    {
      line: '3.2 #4 a task accepts at most ten push configs',
      agent: ({ say }) => say.open(TASK_STATE_INPUT_REQUIRED),
      async ask(side) {
        const { id: taskId } = await begin(side);
        let taken = 0;
        for (let n = 0; n < 12; n += 1) {
          const config = { taskId, id: `config-${n}`, url: 'https://hooks.example/x' };
          const { json } = await side.rpc('CreateTaskPushNotificationConfig', config);
          if (!json.error) taken += 1;
        }
        return taken;
      },
      ours: 10,
      stock: 12,
    },
    {
      line: '3.2 #5 an idle stream sends heartbeats',
      async agent({ say, released }) {
        say.open();
        await released;
        say.status(TASK_STATE_COMPLETED);
      },
      async ask(side) {
        const stream = side.rpc('SendStreamingMessage', message('x'));
        await orSilence(stream, SILENCE_MS);
        side.puppet.release();
        return /^:/m.test((await stream).text);
      },
      ours: true,
      stock: false,
    },
    {
      line: '3.2 #6 a body over the 100 kB of express and within our limit is accepted',
      agent: ({ say }) => say.open(TASK_STATE_COMPLETED),
      ask: async (side) => (await side.rpc('SendMessage', message('x'.repeat(200 * KB)))).status,
      ours: 200,
      stock: 413,
    },
    {
      line: '3.2 #6 a body over the limit is refused in JSON',
      async ask(side) {
        const { status, headers } = await side.rpc('SendMessage', message('x'.repeat(2_000 * KB)));
        return { status, type: headers.get('content-type')?.split(';')[0] };
      },
      ours: { status: 413, type: 'application/json' },
      stock: { status: 413, type: 'text/html' },
    },
    {
      line: '3.2 #6 an unknown path is refused in JSON',
      async ask(side) {
        const { status, headers } = await side.http('/nowhere');
        return { status, type: headers.get('content-type')?.split(';')[0] };
      },
      ours: { status: 404, type: 'application/a2a+json' },
      stock: { status: 404, type: 'text/html' },
    },
  ],
  { limits: { heartbeatSeconds: 0.05 } },
);

besideStock(
  'a server that bounds how much one caller asks',
  [
    {
      line: '3.2 #4 a caller that asks too often is told to wait',
      async ask(side) {
        const replies: number[] = [];
        for (let n = 0; n < 50 && replies.at(-1) !== 429; n += 1)
          replies.push((await side.http('/tasks')).status);
        return replies.includes(429);
      },
      ours: true,
      stock: false,
    },
  ],
  { limits: { requestsPerSecond: 1, requestBurst: 3 } },
);
