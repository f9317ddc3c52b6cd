import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JsonObject } from '../../../src/core/json.js';
import { EXTENSIONS } from '../../../src/core/extensions.js';
import type { Listening } from './stock-server.js';
import { cardJson, listen } from './stock-server.js';

interface RpcCall {
  readonly method: string;
  readonly params: JsonObject;
  readonly id: number;
  readonly headers: IncomingMessage['headers'];
}

interface Wire {
  /** Writes one event of a stream; the head goes out with the first one. */
  event(result: JsonObject): void;
  end(): void;
  /** Breaks the connection. */
  cut(): void;
  /** Writes a plain JSON-RPC response. */
  answer(result: JsonObject): void;
  refuse(code: number, message: string): void;
  status(code: number, headers?: Record<string, string>): void;
  /** Writes a response that is no JSON. */
  babble(): void;
}

export type WireScript = (call: RpcCall, wire: Wire) => void;

export interface WireServer extends Listening {
  readonly calls: RpcCall[];
}

const TASK = 'task-1';
const CONTEXT = 'context-1';

export function snapshot(state: string, more: JsonObject = {}): JsonObject {
  return { task: { id: TASK, contextId: CONTEXT, status: { state }, ...more } };
}

export function status(state: string, seq?: number, more: JsonObject = {}): JsonObject {
  return { statusUpdate: { taskId: TASK, contextId: CONTEXT, status: { state }, ...cursor(seq), ...more } };
}

export function text(words: string, seq?: number, append = true): JsonObject {
  const artifact = { artifactId: 'a', parts: [{ text: words }] };
  return { artifactUpdate: { taskId: TASK, contextId: CONTEXT, artifact, append, ...cursor(seq) } };
}

function cursor(seq: number | undefined): JsonObject {
  return seq === undefined ? {} : { metadata: { [EXTENSIONS.cursor]: { seq } } };
}

/**
 * A JSON-RPC server without a library, so that a test can break it at any byte. `replays` declares our cursor
 * extension.
 */
export async function startWireServer(
  script: WireScript,
  options: { replays?: boolean; streaming?: boolean; port?: number; extension?: string } = {},
): Promise<WireServer> {
  const calls: RpcCall[] = [];
  const listening: Listening = await listen((request, response) => {
    void serve(request, response, (call) => {
      calls.push(call);
      script(call, wireOf(call, response));
    });
  }, options.port);

  async function serve(
    request: IncomingMessage,
    response: ServerResponse,
    onCall: (call: RpcCall) => void,
  ): Promise<void> {
    if (request.method === 'GET') {
      const uri = options.replays === true ? EXTENSIONS.cursor : options.extension;
      const extensions = uri === undefined ? [] : [{ uri }];
      const capabilities = { streaming: options.streaming ?? true, extensions };
      response.end(
        JSON.stringify(cardJson(listening.origin, { bindings: ['JSONRPC'], json: { capabilities } })),
      );
      return;
    }
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { method, params, id } = JSON.parse(body) as RpcCall;
    onCall({ method, params, id, headers: request.headers });
  }

  return { ...listening, calls };
}

function wireOf({ id }: RpcCall, response: ServerResponse): Wire {
  const json = (value: JsonObject): void => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...value }));
  };
  return {
    event(result) {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
    },
    end: () => void response.end(),
    cut: () => setTimeout(() => response.destroy(), 20),
    answer: (result) => json({ result }),
    refuse: (code, message) => json({ error: { code, message } }),
    babble: () => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Log in!'),
    status: (code, headers = {}) => void response.writeHead(code, headers).end(),
  };
}
