import { TaskState } from '@a2a-js/sdk';
import { status } from '@grpc/grpc-js';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { newId } from '../../../src/core/ids.js';
import type { Row } from './compare.js';
import { besideStock } from './compare.js';
import type { Play } from './puppet.js';
import type { Side } from './sides.js';
import { begin, message, orSilence } from './sides.js';

/** The lines of the tables that concern gRPC, beside a gRPC server of the SDK. */

const { TASK_STATE_COMPLETED, TASK_STATE_INPUT_REQUIRED } = TaskState;
const { OK, UNKNOWN, INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION, UNAUTHENTICATED } = status;

const answers: Play = ({ say }) => say.open(TASK_STATE_COMPLETED);
const asks: Play = ({ say }) => say.open(TASK_STATE_INPUT_REQUIRED);

/** A malformed message: the row compares the status code and whether the server stored a task. */
function sending(what: string, wrong: object): Row {
  return {
    line: `3.1 #11 over gRPC: a message with ${what} is refused`,
    agent: answers,
    async ask(side) {
      const contextId = newId();
      const { code } = await side.grpc('sendMessage', message('x', { ...wrong, contextId }));
      return { code, stored: await tasksIn(side, contextId) };
    },
    ours: { code: INVALID_ARGUMENT, stored: 0 },
    stock: { code: OK, stored: 1 },
  };
}

async function tasksIn(side: Side, contextId: string): Promise<number> {
  return (await side.rpc('ListTasks', { contextId })).json.result.totalSize;
}

function pushing(what: string, config: object): Row {
  return {
    line: `3.1 #11 over gRPC: a push config with ${what} is refused`,
    agent: asks,
    async ask(side) {
      const { id: taskId } = await begin(side);
      return (await side.grpc('createTaskPushNotificationConfig', { taskId, ...config })).code;
    },
    ours: INVALID_ARGUMENT,
    stock: OK,
  };
}

besideStock('requests over gRPC', [
  sending('no parts', { parts: [] }),
  sending('no role', { role: undefined }),
  sending('the role of an agent', { role: 'ROLE_AGENT' }),
  sending('a part without content', { parts: [{}] }),
  pushing('no URL', {}),
  pushing('a URL that is none', { url: 'nowhere' }),
  pushing('a file for its URL', { url: 'file:///etc/passwd' }),
  {
    line: '3.1 #11 over gRPC: a negative history length is refused',
    agent: answers,
    async ask(side) {
      const { id } = await begin(side);
      return (await side.grpc('getTask', { id, historyLength: -1 })).code;
    },
    ours: INVALID_ARGUMENT,
    stock: OK,
  },
  {
    line: '3.1 #15 over gRPC: a version with patch digits is accepted',
    ask: async (side) =>
      (await side.grpc('getTask', { id: 'none' }, { headers: { 'a2a-version': '1.0.7' } })).code,
    ours: NOT_FOUND,
    stock: FAILED_PRECONDITION,
  },
  {
    line: '3.1 #18 over gRPC: the head of a stream names the active extensions',
    agent: (act) => {
      const { context } = act.context;
      for (const uri of context.requestedExtensions ?? []) context.addActivatedExtension(uri);
      return answers(act);
    },
    async ask(side) {
      const headers = { 'a2a-extensions': 'urn:lango:a2a:author:v1, urn:lango:a2a:cursor:v1' };
      return (await side.grpc('sendStreamingMessage', message('x'), { headers })).extensions;
    },
    ours: ['urn:lango:a2a:author:v1, urn:lango:a2a:cursor:v1'],
    stock: [],
  },
  {
    line: '3.1 #20 over gRPC: a stream of a silent executor has an event before it ends',
    ask: async (side) => (await side.grpc('sendStreamingMessage', message('x'))).said.length > 0,
    ours: true,
    stock: false,
  },
  {
    line: '3.3 #1 over gRPC: a caller without credentials is refused',
    ask: async (side) => (await side.grpc('listTasks', {}, { token: null })).code,
    ours: UNAUTHENTICATED,
    stock: OK,
  },
  {
    line: '3.3 #2 over gRPC: a tenant that no interface names is refused',
    agent: answers,
    ask: async (side) => (await side.grpc('sendMessage', { ...message('x'), tenant: 'nobody' })).code,
    ours: NOT_FOUND,
    stock: OK,
  },
  {
    line: '3.3 #3 over gRPC: a wrong token is UNAUTHENTICATED',
    ask: async (side) => (await side.grpc('listTasks', {}, { token: 'stolen' })).code,
    ours: UNAUTHENTICATED,
    stock: UNKNOWN,
  },
  {
    line: '3.3 #4 over gRPC: the extended card is refused to a caller without credentials',
    ask: async (side) => (await side.grpc('getExtendedAgentCard', {}, { token: null })).code,
    ours: UNAUTHENTICATED,
    stock: OK,
  },
  {
    line: '3.3 #5 over gRPC: the error of an executor is not disclosed',
    agent: () => Promise.reject(new Error('connect to postgres://user:hunter2@db failed')),
    async ask(side) {
      const replies = await Promise.all([
        side.grpc('sendMessage', message('x')),
        side.grpc('sendStreamingMessage', message('x')),
      ]);
      return replies.map(({ text }) => text.includes('hunter2'));
    },
    ours: [false, false],
    stock: [true, true],
  },
]);

besideStock(
  'requests over gRPC to an agent that sends no push notifications',
  [
    {
      line: '3.1 #16 over gRPC: a push config inside a message is refused',
      agent: answers,
      async ask(side) {
        const contextId = newId();
        const taskPushNotificationConfig = { url: 'https://hooks.example/x' };
        const sent = message('x', { contextId }, { taskPushNotificationConfig });
        const { code } = await side.grpc('sendMessage', sent);
        return { code, stored: await tasksIn(side, contextId) };
      },
      ours: { code: FAILED_PRECONDITION, stored: 0 },
      stock: { code: OK, stored: 1 },
    },
  ],
  { push: false },
);

const SILENCE_MS = 1_500;

besideStock(
  'connections of gRPC',
  [
    {
      line: '3.2 #5 over gRPC: the server pings an idle connection',
      async ask({ grpcAddress }) {
        const session = connect(`http://${grpcAddress}`);
        const asked = await orSilence(once(session, 'ping'), SILENCE_MS);
        session.destroy();
        return asked !== 'silence';
      },
      ours: true,
      stock: false,
    },
  ],
  { limits: { heartbeatSeconds: 0.1 } },
);
