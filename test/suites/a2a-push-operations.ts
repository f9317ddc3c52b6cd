import type { Task } from '@a2a-js/sdk';
import { TaskPushNotificationConfig as ConfigCodec } from '@a2a-js/sdk';
import { newId } from '../../src/core/ids.js';
import type { Way } from '../support/a2a-transports.js';
import type { OperationCase } from './a2a-operations.js';
import { request } from './a2a-operations.js';

/** Push notification configs in the table of `a2a-operations.ts`, for a node that sends push notifications. */

const URL_OF = 'https://receiver.example/hook';
const SECRET = { token: 'a-token', authentication: { scheme: 'Bearer', credentials: 'for-the-receiver' } };
const KEPT = { id: 'a', url: URL_OF, authentication: { scheme: 'Bearer' } };

/** The stock client leaves paging out of its HTTP+JSON request; `push-configs.test.ts` asks for pages there. */
const NOT_PAGED = 'HTTP+JSON';

function config(taskId: string, more: object = {}) {
  return { tenant: '', taskId, id: 'a', url: URL_OF, token: '', authentication: undefined, ...more };
}

async function begin(way: Way, push?: object): Promise<string> {
  const sent = request('ask', {}, push ? { taskPushNotificationConfig: config('', push) } : {});
  return ((await way.transport.sendMessage(sent, way.options())) as Task).id;
}

async function create(way: Way, taskId: string, more: object = {}): Promise<unknown> {
  const made = await way.transport.createTaskPushNotificationConfig(config(taskId, more), way.options());
  return ConfigCodec.toJSON(made);
}

async function get(way: Way, taskId: string, id = 'a'): Promise<unknown> {
  const got = await way.transport.getTaskPushNotificationConfig({ tenant: '', taskId, id }, way.options());
  return ConfigCodec.toJSON(got);
}

async function list(way: Way, taskId: string, more: object = {}) {
  const page = await way.transport.listTaskPushNotificationConfig(
    { tenant: '', taskId, pageSize: 0, pageToken: '', ...more },
    way.options(),
  );
  return { ids: page.configs.map(({ id }) => id), next: page.nextPageToken };
}

function remove(way: Way, taskId: string, id = 'a'): Promise<void> {
  return way.transport.deleteTaskPushNotificationConfig({ tenant: '', taskId, id }, way.options());
}

async function counted(way: Way): Promise<number> {
  const { totalSize } = await way.transport.listTasks(
    { tenant: '', contextId: '', status: 0, pageToken: '', statusTimestampAfter: undefined },
    way.options(),
  );
  return totalSize;
}

export const PUSH_CASES: readonly OperationCase[] = [
  {
    title: 'create a push config and read it: its secrets are not returned',
    ask: async (way) => {
      const id = await begin(way);
      return [await create(way, id, SECRET), await get(way, id)];
    },
    expected: [KEPT, KEPT],
  },
  {
    title: 'a push config without an id gets one; of the same id it is replaced',
    ask: async (way) => {
      const id = await begin(way);
      const own = (await create(way, id, { id: '' })) as { readonly id: string };
      await create(way, id);
      await create(way, id, { url: `${URL_OF}/2` });
      const { ids } = await list(way, id);
      return { hasOwn: ids.includes(own.id), count: ids.length, now: await get(way, id) };
    },
    expected: { hasOwn: true, count: 2, now: { url: `${URL_OF}/2` } },
  },
  {
    title: 'list push configs page by page',
    except: NOT_PAGED,
    ask: async (way) => {
      const id = await begin(way);
      for (const name of ['a', 'b', 'c']) await create(way, id, { id: name });
      const first = await list(way, id, { pageSize: 2 });
      return [first, await list(way, id, { pageSize: 2, pageToken: first.next })];
    },
    expected: [{ ids: ['a', 'b'] }, { ids: ['c'], next: '' }],
  },
  {
    title: 'delete a push config, also twice',
    ask: async (way) => {
      const id = await begin(way);
      await create(way, id);
      await remove(way, id);
      await remove(way, id);
      return list(way, id);
    },
    expected: { ids: [] },
  },
  {
    title: 'a push config inside a message',
    ask: async (way) => get(way, await begin(way, SECRET)),
    expected: KEPT,
  },
  {
    title: 'a malformed push config inside a message: no task',
    ask: async (way) => {
      const before = await counted(way);
      const refused = await begin(way, { url: 'https://10.0.0.1/' }).then(
        () => false,
        () => true,
      );
      return { refused, more: (await counted(way)) - before };
    },
    expected: { refused: true, more: 0 },
  },
  {
    title: 'a push config for a private address',
    error: 'invalid-input',
    ask: async (way) => create(way, await begin(way), { url: 'https://169.254.169.254/' }),
  },
  {
    title: 'a push config with a header in its token',
    error: 'invalid-input',
    ask: async (way) => create(way, await begin(way), { token: 'a\r\nb' }),
  },
  {
    title: 'one push config more than a task may have',
    error: 'too-many',
    ask: async (way) => {
      const id = await begin(way);
      for (const name of ['a', 'b', 'c', 'd', 'e']) await create(way, id, { id: name });
    },
  },
  {
    title: 'a push config for a missing task',
    error: 'not-found',
    ask: (way) => create(way, newId()),
  },
  {
    title: 'a missing push config',
    error: 'not-found',
    ask: async (way) => get(way, await begin(way), 'z'),
  },
  {
    title: 'list push configs of a missing task',
    error: 'not-found',
    ask: (way) => list(way, newId()),
  },
  {
    title: 'delete a push config of a missing task',
    error: 'not-found',
    ask: (way) => remove(way, newId()),
  },
  {
    title: 'a malformed page token for push configs',
    except: NOT_PAGED,
    error: 'invalid-input',
    ask: async (way) => list(way, await begin(way), { pageToken: '!' }),
  },
];

export const PUSH_BINDING_CASES: readonly OperationCase[] = [
  {
    title: 'a push config without a URL',
    error: 'invalid-input',
    ask: async (way) => create(way, await begin(way), { url: '' }),
  },
  {
    title: 'too many push configs to a page',
    except: NOT_PAGED,
    error: 'invalid-input',
    ask: async (way) => list(way, await begin(way), { pageSize: 101 }),
  },
];
