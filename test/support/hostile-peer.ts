import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** One JSON-RPC call of the server under test, and the raw response to it. */
export interface HostileCall {
  readonly method: string;
  readonly response: ServerResponse;
  /** The bytes of one stream event with this result. */
  readonly event: (result: object) => string;
  /** Responds with one JSON-RPC result. */
  readonly answer: (result: object) => void;
  /** Begins an event stream, and writes its first event. */
  readonly stream: (first?: object) => void;
}

export interface HostilePeer {
  readonly url: string;
  /** The JSON-RPC methods called so far, in order. */
  readonly methods: string[];
  close(): Promise<void>;
}

const WORKING = { id: 'far', contextId: '', status: { state: 'TASK_STATE_WORKING' } };

interface HostileOptions {
  readonly streaming?: boolean;
  /** Called for each request for the card. Default: serves the card. `changes` replace members of it. */
  readonly onCard?: (answer: (changes?: object) => void) => void;
}

/** A plain HTTP server that claims to be an A2A agent, and responds with whatever `script` writes. */
export async function startHostilePeer(
  script: (call: HostileCall) => void,
  { streaming = true, onCard = (answer) => answer() }: HostileOptions = {},
): Promise<HostilePeer> {
  const methods: string[] = [];
  let url = '';
  const server = createServer((request, response) => {
    if (request.method === 'GET')
      onCard((changes) => response.end(JSON.stringify({ ...cardAt(url, streaming), ...changes })));
    else void serve(request, response).catch(() => response.destroy());
  });
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { id, method } = (await json(request)) as { readonly id: unknown; readonly method: string };
    const bytes = (result: object): string => JSON.stringify({ jsonrpc: '2.0', id, result });
    const event = (result: object): string => `data: ${bytes(result)}\n\n`;
    const answer = (result: object): void => {
      response.setHeader('content-type', 'application/json');
      response.end(bytes(result));
    };
    methods.push(method);
    if (method === 'CancelTask') {
      answer({ ...WORKING, status: { state: 'TASK_STATE_CANCELED' } });
      return;
    }
    const stream = (first: object = { task: WORKING }): void => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(event(first));
    };
    script({ method, response, event, answer, stream });
  }
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    methods,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function cardAt(url: string, streaming: boolean): object {
  return {
    name: 'Stranger',
    description: 'Does what it likes.',
    version: '1',
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  };
}

/** Writes chunks for as long as the other side takes them. */
export async function writeForever(response: ServerResponse, chunk: () => string): Promise<void> {
  const closed = once(response, 'close');
  while (!response.destroyed) {
    if (!response.write(chunk())) await Promise.race([once(response, 'drain'), closed]);
  }
}
