import { setTimeout as sleep } from 'node:timers/promises';
import { OUR_EXTENSIONS } from '../../src/core/extensions.js';
import { newId } from '../../src/core/ids.js';
import type { JsonObject } from '../../src/core/json.js';
import type { ServerOptions } from '../../src/index.js';
import { scriptedAgent } from './scripted-agent.js';
import type { TestServer } from './server.js';
import { startServer } from './server.js';

/**
 * The requests of the push tests to a server: plain JSON-RPC and HTTP+JSON to the agent `worker`, which follows orders.
 */
export interface PushServer extends TestServer {
  rpc(method: string, params: object, agent?: string): Promise<RpcResponse>;
  rest(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ readonly status: number; readonly json: PushJson }>;
  /** The task, once it has ended. */
  untilEnded(id: string): Promise<PushJson>;
  /** The id of the task that a message began. */
  send(text: string, more?: SendExtras): Promise<string>;
}

interface SendExtras {
  readonly push?: object;
  readonly taskId?: string;
  readonly messageId?: string;
}

interface PushJson {
  readonly [member: string]: PushJson & string & readonly PushJson[];
}

interface RpcResponse {
  readonly status: number;
  readonly result: PushJson;
  readonly error:
    { readonly code: number; readonly message: string; readonly data: readonly JsonObject[] } | undefined;
}

type Push = NonNullable<NonNullable<ServerOptions['settings']>['a2a']>['push'];

export interface PushServerOptions extends ServerOptions {
  readonly push?: Push;
  readonly allowPrivate?: readonly string[];
}

/** The deliveries have the metadata of our extensions. */
const headers = { 'A2A-Extensions': OUR_EXTENSIONS.join(', ') };

/** Settings with short retries, and without delayed text. */
const SOON = { retrySeconds: 0.05, maxRetrySeconds: 0.2, textSeconds: 0.01 };

export async function startPushServer(options: PushServerOptions = {}): Promise<PushServer> {
  const {
    push,
    allowPrivate = ['127.0.0.1'],
    agents = [scriptedAgent('worker')],
    settings,
    ...others
  } = options;
  const server = await startServer({
    ...others,
    agents,
    settings: {
      ...settings,
      server: { port: 0, ...settings?.server },
      egress: { allowPrivate: [...allowPrivate] },
      a2a: { push: { ...SOON, ...push } },
    },
  });
  const rpc: PushServer['rpc'] = async (method, params, agent = 'worker') => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const response = await server.fetch(`/agents/${agent}`, { method: 'POST', body, headers });
    return { status: response.status, ...((await response.json()) as Omit<RpcResponse, 'status'>) };
  };
  return {
    ...server,
    rpc,
    async untilEnded(id) {
      for (;;) {
        const { result } = await rpc('GetTask', { id });
        if (/COMPLETED|FAILED|CANCELED|REJECTED/.test(String(result['status']!['state']))) return result;
        await sleep(10);
      }
    },
    async rest(method, path, body) {
      const response = await server.fetch(`/agents/worker${path}`, {
        ...{ method, headers },
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
      return { status: response.status, json: (await response.json()) as PushJson };
    },
    async send(text, { push: config, taskId, messageId = newId() } = {}) {
      const message = { messageId, role: 'ROLE_USER', parts: [{ text }], ...(taskId ? { taskId } : {}) };
      const configuration = {
        returnImmediately: true,
        ...(config ? { taskPushNotificationConfig: config } : {}),
      };
      const { result, error } = await rpc('SendMessage', { message, configuration });
      if (error) throw new Error(error.message);
      return String(result['task']!['id']);
    },
  };
}

export async function withPushServer(
  options: PushServerOptions,
  use: (server: PushServer) => Promise<void>,
): Promise<void> {
  const server = await startPushServer(options);
  try {
    await use(server);
  } finally {
    await server.stop();
  }
}
