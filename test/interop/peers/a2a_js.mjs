// The official @a2a-js/sdk as a client and as a server: one JSON request a line on stdin, one JSON response a line on
// stdout.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { AgentCard, Role, TaskState } from '@a2a-js/sdk';
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import { legacyGrpcService, LegacyA2AService } from '@a2a-js/sdk/compat/v0_3/server/grpc';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { A2AService, grpcService, UserBuilder as GrpcUserBuilder } from '@a2a-js/sdk/server/grpc';
import { Server, ServerCredentials, ServerInterceptingCall, status } from '@grpc/grpc-js';
import express from 'express';

const PLAIN = { metadata: undefined, filename: '', mediaType: '' };
const textPart = (value) => ({ ...PLAIN, content: { $case: 'text', value } });
const textOf = (parts = []) =>
  parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');
const timestamp = () => new Date().toISOString();

// The agent

const seen = [];
const files = [];
const waiting = new Map();

/** Runs the order in the first word of a message. */
class Orders {
  async execute(context, bus) {
    const { taskId, contextId, userMessage, task } = context;
    const at = { taskId, contextId, metadata: undefined };
    const status = (state, text) => ({
      state,
      timestamp: timestamp(),
      message: text && {
        ...{ messageId: randomUUID(), contextId, taskId, role: Role.ROLE_AGENT, parts: [textPart(text)] },
        ...{ metadata: undefined, extensions: [], referenceTaskIds: [] },
      },
    });
    const become = (state, text) =>
      bus.publish(AgentEvent.statusUpdate({ ...at, status: status(state, text) }));
    const give = (parts, append = false) =>
      bus.publish(
        AgentEvent.artifactUpdate({
          ...at,
          ...{ append, lastChunk: false },
          artifact: {
            artifactId: 'answer',
            name: '',
            description: '',
            parts,
            metadata: undefined,
            extensions: [],
          },
        }),
      );
    const opened = { id: taskId, contextId, status: status(TaskState.TASK_STATE_SUBMITTED), artifacts: [] };
    bus.publish(AgentEvent.task(task ?? { ...opened, history: [userMessage], metadata: undefined }));
    const said = textOf(userMessage.parts).trim();
    seen.push(said);
    become(TaskState.TASK_STATE_WORKING);
    const [order] = said.split(' ', 1);
    const rest = said.slice(order.length + 1);
    const ends = {
      ask: [TaskState.TASK_STATE_INPUT_REQUIRED, 'what shall I say?'],
      fail: [TaskState.TASK_STATE_FAILED, 'the disk is full'],
      refuse: [TaskState.TASK_STATE_REJECTED, 'not my work'],
    };
    if (order === 'wait') {
      await new Promise((resolve) => waiting.set(taskId, resolve));
      become(TaskState.TASK_STATE_CANCELED);
    } else if (ends[order]) {
      become(...ends[order]);
    } else {
      const sent = userMessage.parts.filter(({ content }) => content?.$case === 'raw');
      if (order === 'chunks') for (let n = 0; n < Number(rest); n += 1) give([textPart(`<${n}>`)], n > 0);
      else if (order === 'echo') {
        files.push(...sent.map(({ content }) => Buffer.from(content.value).toString()));
        give(sent);
      } else give([textPart(rest)]);
      become(TaskState.TASK_STATE_COMPLETED);
    }
    bus.finished();
  }

  async cancelTask(taskId) {
    seen.push('canceled');
    waiting.get(taskId)?.();
  }
}

async function serve({ transport, version, token }) {
  const app = express();
  const http = app.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const origin = `http://127.0.0.1:${http.address().port}`;
  const rpc = new Server(token ? { interceptors: [onlyWith(token)] } : {});
  const port = await new Promise((resolve, reject) => {
    rpc.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, taken) =>
      error ? reject(error) : resolve(taken),
    );
  });
  const url = { JSONRPC: `${origin}/rpc`, 'HTTP+JSON': `${origin}/rest`, GRPC: `127.0.0.1:${port}` }[
    transport
  ];
  const card = AgentCard.fromJSON({
    name: 'Orders',
    description: 'Follows orders.',
    version: '1',
    supportedInterfaces: [{ url, protocolBinding: transport, protocolVersion: version }],
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain', 'image/png'],
    defaultOutputModes: ['text/plain', 'image/png'],
    skills: [{ id: 'orders', name: 'Orders', description: 'Follows orders.', tags: ['test'] }],
    ...(token
      ? {
          securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'bearer' } } },
          securityRequirements: [{ schemes: { bearer: { list: [] } } }],
        }
      : {}),
  });
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Orders());
  const legacyCompat = { enabled: version === '0.3' };
  const options = { requestHandler, userBuilder: UserBuilder.noAuthentication, legacyCompat };
  app.use(
    '/.well-known/agent-card.json',
    agentCardHandler({ agentCardProvider: async () => card, legacyCompat }),
  );
  if (token)
    app.use((request, response, next) =>
      request.headers.authorization === `Bearer ${token}`
        ? next()
        : response.status(401).send('unknown caller'),
    );
  app.use('/rpc', jsonRpcHandler(options));
  app.use('/rest', restHandler(options));
  const grpcOptions = { requestHandler, userBuilder: GrpcUserBuilder.noAuthentication };
  rpc.addService(A2AService, grpcService(grpcOptions));
  if (legacyCompat.enabled) rpc.addService(LegacyA2AService, legacyGrpcService(grpcOptions));
  return { url: origin };
}

/** Refuses gRPC calls without the token. */
const onlyWith = (token) => (_method, call) =>
  new ServerInterceptingCall(call, {
    start: (next) =>
      next({
        onReceiveMetadata: (metadata, done) => {
          if (metadata.get('authorization')[0] === `Bearer ${token}`) done(metadata);
          else call.sendStatus({ code: status.UNAUTHENTICATED, details: 'unknown caller' });
        },
      }),
  });

// The client

let client;

async function connect({ url, transport, version, token }) {
  const legacyCompat = { enabled: true };
  const withToken = {
    async before(call) {
      const serviceParameters = { ...call.options?.serviceParameters, authorization: `Bearer ${token}` };
      call.options = { ...call.options, serviceParameters };
    },
    async after() {},
  };
  const factory = new ClientFactory({
    transports: [
      new JsonRpcTransportFactory({ legacyCompat }),
      new RestTransportFactory({ legacyCompat }),
      new GrpcTransportFactory({ legacyCompat }),
    ],
    preferredTransports: [transport],
    clientConfig: { interceptors: token ? [withToken] : [] },
  });
  const card = await new DefaultAgentCardResolver({ legacyCompat }).resolve(`${url}/`);
  // Selects the one interface of the card that the test is about.
  card.supportedInterfaces = card.supportedInterfaces.filter(
    (one) => one.protocolBinding === transport && one.protocolVersion.startsWith(version),
  );
  client = await factory.createFromAgentCard(card);
  if (!client.protocolVersion.startsWith(version)) throw new Error(`speaks ${client.protocolVersion}`);
  return { name: card.name, skills: card.skills.map(({ id }) => id) };
}

function newRequest({ text, taskId = '', file, wait = true }) {
  const parts = [textPart(text)];
  if (file) {
    const content = { $case: 'raw', value: Buffer.from(file.base64, 'base64') };
    parts.push({ metadata: undefined, filename: file.name, mediaType: file.mediaType, content });
  }
  return {
    tenant: '',
    message: {
      ...{ messageId: randomUUID(), role: Role.ROLE_USER, parts, contextId: '', taskId },
      ...{ metadata: undefined, extensions: [], referenceTaskIds: [] },
    },
    configuration: {
      ...{ acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: !wait },
    },
    metadata: undefined,
  };
}

function view(task) {
  const parts = task.artifacts.flatMap((artifact) => artifact.parts);
  return {
    taskId: task.id,
    state: TaskState[task.status.state].replace('TASK_STATE_', '').toLowerCase().replaceAll('_', '-'),
    text: textOf(parts) || textOf(task.status.message?.parts),
    files: parts
      .filter(({ content }) => content?.$case === 'raw')
      .map(({ filename, mediaType, content }) => ({
        ...{ name: filename, mediaType, base64: Buffer.from(content.value).toString('base64') },
      })),
  };
}

/** Reads a stream to its end, into a task. */
async function gather(stream, isCanceled = false) {
  let task = { id: '', artifacts: [], status: undefined };
  let events = 0;
  for await (const { payload } of stream) {
    events += 1;
    if (payload.$case === 'task') task = payload.value;
    if (payload.$case === 'statusUpdate')
      task = { ...task, id: payload.value.taskId, status: payload.value.status };
    if (payload.$case === 'artifactUpdate') {
      const { append, artifact } = payload.value;
      task = { ...task, artifacts: append ? [...task.artifacts, artifact] : [artifact] };
    }
    if (isCanceled && events === 1) await client.cancelTask({ tenant: '', id: task.id, metadata: undefined });
  }
  return { ...view(task), events };
}

const OPERATIONS = {
  about: () => ({
    version: JSON.parse(readFileSync('node_modules/@a2a-js/sdk/package.json', 'utf8')).version,
  }),
  serve,
  connect,
  seen: () => ({ seen }),
  read: () => ({ text: files.at(-1) }),
  extended: async () => ({ name: (await client.getAgentCard()).name }),
  send: async (given) => view(await client.sendMessage(newRequest(given))),
  stream: (given) => gather(client.sendMessageStream(newRequest(given))),
  follow: ({ taskId }) => gather(client.resubscribeTask({ tenant: '', id: taskId }), true),
  get: async ({ taskId }) => view(await client.getTask({ tenant: '', id: taskId, historyLength: undefined })),
  cancel: async ({ taskId }) =>
    view(await client.cancelTask({ tenant: '', id: taskId, metadata: undefined })),
  list: async () => {
    const { tasks } = await client.listTasks({
      ...{ tenant: '', contextId: '', status: TaskState.TASK_STATE_UNSPECIFIED, pageSize: 50, pageToken: '' },
      ...{ historyLength: undefined, statusTimestampAfter: undefined, includeArtifacts: false },
    });
    return { ids: tasks.map(({ id }) => id) };
  },
  push: async ({ taskId, url, token }) => {
    const config = { tenant: '', taskId, id: 'hook', url, token, authentication: undefined };
    await client.createTaskPushNotificationConfig(config);
    const read = await client.getTaskPushNotificationConfig({ tenant: '', taskId, id: 'hook' });
    return { url: read.url };
  },
  pushes: async ({ taskId }) => {
    const { configs } = await client.listTaskPushNotificationConfig({
      ...{ tenant: '', taskId, pageSize: 50, pageToken: '' },
    });
    return { ids: configs.map(({ id }) => id) };
  },
  unpush: async ({ taskId }) => {
    await client.deleteTaskPushNotificationConfig({ tenant: '', taskId, id: 'hook' });
    return {};
  },
};

for await (const line of createInterface(process.stdin)) {
  const { op, ...given } = JSON.parse(line);
  const answer = await Promise.resolve()
    .then(() => OPERATIONS[op](given))
    .catch((error) => ({ error: `${error.constructor.name} ${error.name}`, message: error.message }));
  console.log(JSON.stringify(answer));
}
