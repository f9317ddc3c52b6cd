import { TaskState } from '@a2a-js/sdk';
import { expect, it, jest } from '@jest/globals';
import { newId } from '../../../src/core/ids.js';
import { findInFolder } from '../../support/secret-search.js';
import type { Row } from './compare.js';
import { besideStock } from './compare.js';
import type { Play } from './puppet.js';
import type { Side } from './sides.js';
import { AT_ONCE, ENDED, begin, get, message, openOurs, openStock, untilIn } from './sides.js';
import { stockSchema } from './stock-stores.js';

/** The storage of tasks, beside both stores of the SDK, in memory and in a database (3.2 #2). */

const { TASK_STATE_COMPLETED, TASK_STATE_INPUT_REQUIRED } = TaskState;

const asks: Play = ({ say }) => {
  say.open();
  say.status(TASK_STATE_INPUT_REQUIRED);
};

async function statusTime(side: Side, id: string): Promise<string> {
  return ((await get(side, id)).status as unknown as { readonly timestamp: string }).timestamp;
}

const ROWS: readonly Row[] = [
  {
    line: '3.1 #7 two concurrent messages to a task are both kept, also through two processes',
    agent: ({ asked, say }) => {
      if (asked === 'begin') say.open();
      say.status(TASK_STATE_INPUT_REQUIRED);
    },
    async ask(side) {
      const { id } = await begin(side);
      await untilIn(side, id, 'INPUT_REQUIRED');
      side.letTwoMeet();
      await Promise.all([
        side.rpc('SendMessage', message('red', { taskId: id }, AT_ONCE)),
        side.elsewhere.rpc('SendMessage', message('blue', { taskId: id }, AT_ONCE)),
      ]);
      const { history } = await untilIn(side, id, 'INPUT_REQUIRED');
      const said = history.filter(({ role }) => role === 'ROLE_USER').flatMap(({ parts }) => parts);
      return said.filter(({ text }) => text !== 'begin').length;
    },
    ours: 2,
    stock: 1,
  },
  {
    line: '3.2 #1 the bytes written for a task grow linearly with its length',
    agent({ asked, say }) {
      say.open();
      for (let n = 0; n < Number(asked); n += 1) say.text(`chunk ${n} `, n > 0);
      say.status(TASK_STATE_COMPLETED);
    },
    async ask(side) {
      const written = async (chunks: number) => {
        const { id } = await begin(side, String(chunks));
        const { artifacts } = await untilIn(side, id, ...ENDED);
        return { size: await side.written(id), parts: artifacts[0]!.parts.length };
      };
      const [short, long] = [await written(100), await written(400)];
      return { isLinear: long.size < 6 * short.size, parts: long.parts };
    },
    ours: { isLinear: true, parts: 1 },
    stock: { isLinear: false, parts: 400 },
  },
  {
    line: '3.1 #13 a list from a time on includes a task of exactly that time',
    agent: asks,
    async ask(side) {
      const contextId = newId();
      const { json } = await side.rpc('SendMessage', message('x', { contextId }));
      const statusTimestampAfter = await statusTime(side, json.result.task.id);
      return (await side.rpc('ListTasks', { contextId, statusTimestampAfter })).json.result.totalSize;
    },
    ours: 1,
    stock: 0,
  },
];

const SECRETS: Row = {
  line: 'the database files hold no secret of a webhook in the clear',
  agent: asks,
  async ask(side) {
    const { id: taskId } = await begin(side);
    const authentication = { scheme: 'Bearer', credentials: 'hunter2-of-the-webhook' };
    const config = {
      taskId,
      url: 'https://hooks.example/x',
      token: 'hunter3-of-the-webhook',
      authentication,
    };
    const { json } = await side.rpc('CreateTaskPushNotificationConfig', config);
    const found = [authentication.credentials, config.token].flatMap((value) =>
      findInFolder(side.folder, value),
    );
    return { isTaken: !json.error, isInTheClear: found.length > 0 };
  },
  ours: { isTaken: true, isInTheClear: false },
  stock: { isTaken: true, isInTheClear: true },
};

besideStock("stored tasks, beside the SDK's store in memory", ROWS);
besideStock(
  "stored tasks, beside the SDK's store in a database",
  [...ROWS, SECRETS].map((row) => ({ ...row, line: `3.2 #2 in a database: ${row.line}` })),
  { database: true },
);

const DAY_MS = 24 * 60 * 60 * 1_000;
const LONG_AGO_DAYS = 91;
/** Whether a task that ended a quarter of a year ago still exists `waitMs` after the server was started again. */
async function isKept(side: Side, waitMs: number): Promise<boolean> {
  side.puppet.rehearse(({ say }) => say.open(TASK_STATE_COMPLETED));
  const { id } = await begin(side);
  await untilIn(side, id, ...ENDED);
  const later = Date.now() + LONG_AGO_DAYS * DAY_MS;
  const clock = jest.spyOn(Date, 'now').mockImplementation(() => later);
  await side.restart();
  const end = performance.now() + waitMs;
  let isThere = true;
  while (isThere && performance.now() < end) isThere = !(await side.rpc('GetTask', { id })).json.error;
  clock.mockRestore();
  return isThere;
}

it('3.2 #2 tasks that ended long ago are removed', async () => {
  const [ours, stock] = [await openOurs({}), await openStock({ database: true })];
  const kept = { ours: await isKept(ours, 60_000), stock: await isKept(stock, 1_000) };
  await Promise.all([ours.close(), stock.close()]);
  expect(kept).toEqual({ ours: false, stock: true });
});

/** SQLite ignores the width that a column declares; the other databases of the SDK refuse the text. */
it('3.2 #2 a context id longer than a UUID is stored as the client wrote it', async () => {
  const contextId = 'ç'.repeat(100);
  const side = await openOurs({});
  side.puppet.rehearse(({ say }) => say.open(TASK_STATE_COMPLETED));
  await side.rpc('SendMessage', message('x', { contextId }));
  const { tasks } = (await side.rpc('ListTasks', { contextId })).json.result;
  await side.close();
  expect(tasks.map((task) => task.contextId)).toEqual([contextId]);
  for (const dialect of ['postgres', 'mysql'])
    expect(await stockSchema('--sql', '--dialect', dialect)).toMatch(/["`]context_id["`] varchar\(36\)/);
});
