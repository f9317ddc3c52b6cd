import { AgentCard } from '@a2a-js/sdk';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import { DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { UserBuilder, jsonRpcHandler, restHandler } from '@a2a-js/sdk/server/express';
import express from 'express';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '../../../src/core/json.js';
import { ScriptedExecutor } from './scripted-executor.js';

export interface CardChanges {
  readonly name?: string;
  readonly streaming?: boolean;
  readonly bindings?: readonly string[];
  readonly json?: JsonObject;
}

/** The card of a stock agent at `origin`, as JSON. */
export function cardJson(origin: string, changes: CardChanges = {}): JsonObject {
  const paths: Readonly<Record<string, string>> = { JSONRPC: '/rpc', 'HTTP+JSON': '/rest' };
  return {
    name: changes.name ?? 'Scripted',
    description: 'Does what the first word says.',
    version: '1.0.0',
    supportedInterfaces: (changes.bindings ?? ['JSONRPC', 'HTTP+JSON']).map((protocolBinding) => ({
      url: `${origin}${paths[protocolBinding] ?? '/'}`,
      protocolBinding,
      protocolVersion: '1.0',
    })),
    capabilities: { streaming: changes.streaming ?? true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'talk', name: 'Talk', description: 'Talks.', tags: ['talk'], examples: ['stream'] }],
    ...changes.json,
  };
}

export interface Listening {
  readonly origin: string;
  readonly port: number;
  /** Cuts every open connection. */
  dropConnections(): void;
  close(): Promise<void>;
}

export async function listen(listener: RequestListener, port = 0): Promise<Listening> {
  const server = createServer(listener).listen(port, '127.0.0.1');
  await once(server, 'listening');
  const { port: taken } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${taken}`,
    port: taken,
    dropConnections: () => server.closeAllConnections(),
    close: async () => {
      server.close();
      server.closeAllConnections();
      if (server.listening) await once(server, 'close');
    },
  };
}

export interface StockAgent {
  readonly executor: ScriptedExecutor;
  readonly handler: A2ARequestHandler;
}

function createStockAgent(card: JsonObject): StockAgent {
  const executor = new ScriptedExecutor();
  const handler = new DefaultRequestHandler(AgentCard.fromJSON(card), new InMemoryTaskStore(), executor);
  return { executor, handler };
}

/** A server as the documentation of the stock SDK builds it. */
export async function startStockServer(changes: CardChanges = {}): Promise<Listening & StockAgent> {
  const app = express();
  const listening = await listen(app);
  const card = cardJson(listening.origin, changes);
  const agent = createStockAgent(card);
  const options = { requestHandler: agent.handler, userBuilder: UserBuilder.noAuthentication };
  app.get('/.well-known/agent-card.json', (_request, response) => void response.json(card));
  app.use('/rpc', jsonRpcHandler(options));
  app.use('/rest', restHandler(options));
  return { ...listening, ...agent };
}
