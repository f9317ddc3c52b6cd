import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { objectIn, textIn, type JsonObject } from '../../src/core/json.js';

/** An agent of another server, without a library, that answers as it is told. */
export interface RawPeer {
  readonly url: string;
  /** The paths that were asked for, with their methods. */
  readonly asked: readonly string[];
  /** The context ids of the messages that were sent, in order. */
  readonly contexts: readonly string[];
  close(): Promise<void>;
}

interface Script {
  /** The path of the agent. Default: the root. */
  readonly path?: string;
  /** The path of the host below which the card is, and the path of the interface that it names. Default: `path`. */
  readonly cardAt?: string;
  readonly named?: string;
  /** The result of `SendMessage`, or the error. Gets the context id and the number of the message, from 0. */
  answer(contextId: string, number: number): { readonly result: JsonObject } | { readonly error: JsonObject };
}

export async function openPeer(script: Script): Promise<RawPeer> {
  const { path = '', cardAt = path, named = path } = script;
  const asked: string[] = [];
  const contexts: string[] = [];
  const server = createServer((incoming, response) => {
    void text(incoming).then((body) => {
      const place = `${incoming.method} ${incoming.url}`;
      asked.push(place);
      const send = (json: JsonObject) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(json));
      };
      if (place === `GET ${cardAt}/.well-known/agent-card.json`) return send(cardOf(`${origin}${named}`));
      if (place !== `POST ${path || '/'}`) return response.writeHead(404).end();
      const { id, method, params } = JSON.parse(body) as JsonObject;
      const head = { jsonrpc: '2.0', id };
      if (method !== 'SendMessage')
        return send({ ...head, error: { code: -32001, message: 'no such task' } });
      const contextId = textIn(objectIn(objectIn(params).message).contextId);
      contexts.push(contextId);
      return send({ ...head, ...script.answer(contextId, contexts.length - 1) });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ...{ url: `${origin}${path}`, asked, contexts },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function cardOf(url: string): JsonObject {
  const skill = { id: 's', name: 's', description: 'numbers', tags: [] };
  return {
    ...{
      name: 'Helper',
      description: 'Helps with numbers.',
      version: '1',
      capabilities: {},
      skills: [skill],
    },
    ...{ defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] },
    supportedInterfaces: [{ url: url || '/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  };
}

/** A task that ended, as a peer sends it. */
export function ended(contextId: string, more: JsonObject = {}): { readonly result: JsonObject } {
  const artifacts = [{ artifactId: 'a', parts: [{ text: 'SEVEN' }] }];
  const status = { state: 'TASK_STATE_COMPLETED' };
  return { result: { task: { id: `t-${contextId || 'x'}`, contextId, status, artifacts, ...more } } };
}
