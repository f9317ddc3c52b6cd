import { TaskState } from '@a2a-js/sdk';
import { request } from 'node:http';
import { newId } from '../../../src/core/ids.js';
import { TOKEN } from '../../support/a2a-node.js';
import type { Row } from './compare.js';
import { besideStock } from './compare.js';
import type { Play } from './puppet.js';
import { begin, message } from './sides.js';
/** Lines 11 to 18 of table 3.1: requests to a server, and its responses. */

const answers: Play = ({ say }) => {
  say.open();
  say.status(TaskState.TASK_STATE_COMPLETED);
};
const asks: Play = ({ say }) => {
  say.open();
  say.status(TaskState.TASK_STATE_INPUT_REQUIRED);
};
const waits: Play = async ({ say, told }) => {
  say.open();
  await told;
  say.status(TaskState.TASK_STATE_CANCELED);
};

const REFUSED = { error: -32602, stored: 0 };
const TAKEN = { error: undefined, stored: 1 };

/** A malformed message: the row compares the error code and whether the server stored a task. */
function sending(what: string, wrong: object): Row {
  return {
    line: `3.1 #11 a message with ${what} is refused`,
    agent: answers,
    async ask(side) {
      const contextId = newId();
      const { json } = await side.rpc('SendMessage', message('x', { ...wrong, contextId }));
      const stored = (await side.rpc('ListTasks', { contextId })).json.result.totalSize;
      return { error: json.error?.code, stored };
    },
    ours: REFUSED,
    stock: TAKEN,
  };
}

/** A malformed push config, for a task that waits for input. */
function pushing(what: string, config: object): Row {
  return {
    line: `3.1 #11 a push config with ${what} is refused`,
    agent: asks,
    async ask(side) {
      const { id: taskId } = await begin(side);
      const { json } = await side.rpc('CreateTaskPushNotificationConfig', { taskId, ...config });
      return json.error?.code;
    },
    ours: -32602,
    stock: undefined,
  };
}

/** A request for an unknown task that names its version as `asked` says: the row compares the reason of the error. */
function version(what: string, asked: { headers?: Record<string, string>; query?: string }): Row {
  const headers = { 'A2A-Version': '', ...asked.headers };
  return {
    line: `3.1 #15 a version ${what} is understood`,
    ask: async (side) => {
      const { json } = await side.http(`/tasks/none${asked.query ?? ''}`, { headers });
      return json.error.details[0]?.reason;
    },
    ours: 'TASK_NOT_FOUND',
    stock: 'VERSION_NOT_SUPPORTED',
  };
}

const EXTENSIONS = 'urn:lango:a2a:author:v1, urn:lango:a2a:cursor:v1';

const activates: Play = (act) => {
  const { context } = act.context;
  for (const uri of context.requestedExtensions ?? []) context.addActivatedExtension(uri);
  return answers(act);
};

/** The headers that name extensions in the response to a send, one by one: fetch would join them. */
function extensionHeaders(origin: string): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    const headers = {
      Authorization: `Bearer ${TOKEN}`,
      'A2A-Version': '1.0',
      'A2A-Extensions': EXTENSIONS,
      'Content-Type': 'application/json',
    };
    const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: message('x') };
    request(`${origin}/`, { method: 'POST', headers }, (response) => {
      resolve(response.resume().headersDistinct['a2a-extensions'] ?? []);
    })
      .on('error', reject)
      .end(JSON.stringify(body));
  });
}

besideStock('requests', [
  sending('no parts', { parts: [] }),
  sending('a part of a wrong type', { parts: ['x'] }),
  sending('no role', { role: undefined }),
  sending('the role of an agent', { role: 'ROLE_AGENT' }),
  sending('a part without content', { parts: [{}] }),
  sending('a part with two contents', { parts: [{ text: 'x', url: 'https://x.example' }] }),
  sending('bad base64', { parts: [{ raw: '!!' }] }),
  pushing('no URL', {}),
  pushing('a URL that is none', { url: 'nowhere' }),
  pushing('a file for its URL', { url: 'file:///etc/passwd' }),
  {
    line: '3.1 #11 a negative history length is refused',
    agent: answers,
    async ask(side) {
      const { id } = await begin(side);
      return (await side.rpc('GetTask', { id, historyLength: -1 })).json.error?.code;
    },
    ours: -32602,
    stock: undefined,
  },
  {
    line: '3.1 #12 a body that is no JSON-RPC request is an invalid request',
    ask: async (side) => (await side.http('/', { body: { method: 'GetTask', id: 1 } })).json.error.code,
    ours: -32600,
    stock: -32602,
  },
  {
    line: '3.1 #12 a notification gets no response body',
    ask: async (side) => {
      const { status, text } = await side.http('/', {
        body: { jsonrpc: '2.0', method: 'ListTasks', params: {} },
      });
      return { status, isAnswered: text !== '' };
    },
    ours: { status: 204, isAnswered: false },
    stock: { status: 200, isAnswered: true },
  },
  {
    line: '3.1 #14 the next page is complete after the last task of the page before has changed',
    agent: asks,
    async ask(side) {
      const contextId = newId();
      for (let n = 0; n < 6; n += 1) {
        await side.rpc('SendMessage', message('x', { contextId }));
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      const first = (await side.rpc('ListTasks', { contextId, pageSize: 2 })).json.result;
      await side.rpc('SendMessage', message('again', { contextId, taskId: first.tasks[1]!.id }));
      const pageToken = first.nextPageToken;
      return (await side.rpc('ListTasks', { contextId, pageSize: 10, pageToken })).json.result.tasks.length;
    },
    ours: 4,
    stock: 0,
  },
  version('in the query', { query: '?A2A-Version=1.0' }),
  version('with patch digits', { headers: { 'A2A-Version': '1.0.7' } }),
  {
    line: '3.1 #17 a cancel over HTTP+JSON is refused when its metadata is malformed',
    agent: waits,
    async ask(side) {
      const { id } = await begin(side);
      const cancel = (metadata: unknown) => side.http(`/tasks/${id}:cancel`, { body: { metadata } });
      return [(await cancel('no object')).status, (await cancel({ why: 'enough' })).status];
    },
    ours: [400, 200],
    stock: [200, 200],
  },
  {
    line: '3.1 #17 the creation of a push config over HTTP+JSON responds with 200',
    agent: asks,
    async ask(side) {
      const { id } = await begin(side);
      const body = { url: 'https://hooks.example/x' };
      return (await side.http(`/tasks/${id}/pushNotificationConfigs`, { body })).status;
    },
    ours: 200,
    stock: 201,
  },
  {
    line: '3.1 #18 the head of a stream names the active extensions',
    agent: activates,
    async ask(side) {
      const headers = { 'A2A-Extensions': EXTENSIONS };
      const { headers: head } = await side.rpc('SendStreamingMessage', message('x'), { headers });
      return head.get('a2a-extensions');
    },
    ours: 'urn:lango:a2a:author:v1, urn:lango:a2a:cursor:v1',
    stock: null,
  },
  {
    line: '3.1 #18 a response names the active extensions in one header',
    agent: activates,
    ask: ({ origin }) => extensionHeaders(origin),
    ours: ['urn:lango:a2a:author:v1, urn:lango:a2a:cursor:v1'],
    stock: ['urn:lango:a2a:author:v1', 'urn:lango:a2a:cursor:v1'],
  },
]);

besideStock(
  'requests to an agent that sends no push notifications',
  [
    {
      line: '3.1 #16 a push config inside a message is refused',
      agent: answers,
      async ask(side) {
        const contextId = newId();
        const taskPushNotificationConfig = { url: 'https://hooks.example/x' };
        const sent = message('x', { contextId }, { taskPushNotificationConfig });
        const error = (await side.rpc('SendMessage', sent)).json.error?.code;
        return { error, stored: (await side.rpc('ListTasks', { contextId })).json.result.totalSize };
      },
      ours: { error: -32003, stored: 0 },
      stock: TAKEN,
    },
  ],
  { push: false },
);
