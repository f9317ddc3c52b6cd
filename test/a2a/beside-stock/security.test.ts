import { TaskState } from '@a2a-js/sdk';
import { expect, it, jest } from '@jest/globals';
import { besideStock } from './compare.js';
import { hushConsole, saidToConsole } from './console.js';
import { ENDED, begin, message, openOurs, openStock, untilIn } from './sides.js';

/** Table 3.3: authentication, and what a server discloses in responses, to webhooks and in logs. */

const NOBODY = { token: null };
const WRONG = { token: 'stolen' };

besideStock('callers, and what is disclosed to them', [
  {
    line: '3.3 #1 a caller without credentials is refused',
    ask: async (side) => (await side.rpc('ListTasks', {}, NOBODY)).status,
    ours: 401,
    stock: 200,
  },
  {
    line: '3.3 #2 a tenant that no interface names is refused',
    agent: ({ say }) => say.open(TaskState.TASK_STATE_COMPLETED),
    ask: async (side) => {
      const { json } = await side.rpc('SendMessage', { ...message('x'), tenant: 'nobody' });
      return json.error?.code;
    },
    ours: -32602,
    stock: undefined,
  },
  {
    line: '3.3 #3 a wrong token over JSON-RPC gets 401 with a challenge',
    async ask(side) {
      const { status, headers } = await side.rpc('ListTasks', {}, WRONG);
      return { status, challenge: headers.get('www-authenticate')?.split(' ')[0] };
    },
    ours: { status: 401, challenge: 'Bearer' },
    stock: { status: 500, challenge: undefined },
  },
  {
    line: '3.3 #3 a wrong token over HTTP+JSON gets 401 with a challenge',
    async ask(side) {
      const { status, headers } = await side.http('/tasks', WRONG);
      return { status, challenge: headers.get('www-authenticate')?.split(' ')[0] };
    },
    ours: { status: 401, challenge: 'Bearer' },
    stock: { status: 500, challenge: undefined },
  },
  {
    line: '3.3 #4 the extended card is refused to a caller without credentials',
    ask: async (side) => (await side.http('/extendedAgentCard', NOBODY)).status,
    ours: 401,
    stock: 200,
  },
  {
    line: '3.3 #5 the error of an executor is not disclosed',
    agent: () => Promise.reject(new Error('connect to postgres://user:hunter2@db failed')),
    async ask(side) {
      const { id } = await begin(side);
      await untilIn(side, id, ...ENDED);
      const replies = await Promise.all([
        side.rpc('SendMessage', message('x')),
        side.rpc('SendStreamingMessage', message('x')),
        side.rpc('GetTask', { id }),
      ]);
      return replies.map(({ text }) => text.includes('hunter2'));
    },
    ours: [false, false, false],
    stock: [true, true, true],
  },
  {
    line: '3.3 #6 a webhook at a private address is refused',
    agent: ({ say }) => say.open(TaskState.TASK_STATE_INPUT_REQUIRED),
    async ask(side) {
      const { id: taskId } = await begin(side);
      const config = { taskId, url: 'https://169.254.169.254/latest/meta-data' };
      return (await side.rpc('CreateTaskPushNotificationConfig', config)).json.error?.code;
    },
    ours: -32602,
    stock: undefined,
  },
  {
    line: '3.3 #6 a webhook at a private address is refused inside a message too',
    agent: ({ say }) => say.open(TaskState.TASK_STATE_COMPLETED),
    async ask(side) {
      const taskPushNotificationConfig = { url: 'https://169.254.169.254/latest/meta-data' };
      const { json } = await side.rpc('SendMessage', message('x', {}, { taskPushNotificationConfig }));
      return json.error?.code;
    },
    ours: -32602,
    stock: undefined,
  },
  {
    line: '3.3 #6 the secrets of a webhook are not read back',
    agent: ({ say }) => say.open(TaskState.TASK_STATE_INPUT_REQUIRED),
    async ask(side) {
      const { id: taskId } = await begin(side);
      const authentication = { scheme: 'Bearer', credentials: 'hunter2' };
      const config = { taskId, id: 'mine', url: 'https://hooks.example/x', token: 'hunter3', authentication };
      await side.rpc('CreateTaskPushNotificationConfig', config);
      const { text } = await side.rpc('ListTaskPushNotificationConfigs', { taskId });
      return text.match(/hunter\d/g);
    },
    ours: null,
    stock: ['hunter3', 'hunter2'],
  },
]);

besideStock(
  'callers that have names',
  [
    {
      line: '3.3 #1 a caller named "unknown" does not see the tasks of callers without a name',
      agent: ({ say }) => say.open(TaskState.TASK_STATE_COMPLETED),
      async ask(side) {
        const { status } = await side.rpc('SendMessage', message('x'), NOBODY);
        const token = await side.tokenOf('unknown');
        const { totalSize } = (await side.rpc('ListTasks', {}, { token })).json.result;
        return { nobody: status, unknown: totalSize };
      },
      ours: { nobody: 401, unknown: 0 },
      stock: { nobody: 200, unknown: 1 },
    },
  ],
  { named: true },
);

it('3.3 #7 the server writes nothing to the console when executors fail and requests are refused', async () => {
  const written: Record<string, boolean> = {};
  for (const [name, open] of Object.entries({ ours: openOurs, stock: openStock })) {
    hushConsole();
    const side = await open({});
    side.puppet.rehearse(() => Promise.reject(new Error('out of order')));
    await side.rpc('SendMessage', message('x'));
    await side.rpc('SubscribeToTask', { id: 'none' });
    await side.rpc('ListTasks', {}, WRONG);
    await side.close();
    written[name] = saidToConsole().length > 0;
    jest.restoreAllMocks();
  }
  expect(written).toEqual({ ours: false, stock: true });
});
