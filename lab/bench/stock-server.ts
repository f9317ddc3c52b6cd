import type { AddressInfo } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { AgentCard } from '@a2a-js/sdk';
import type { TaskStore } from '@a2a-js/sdk/server';
import { DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { DatabaseTaskStore } from '@a2a-js/sdk/server/database';
import { UserBuilder, agentCardHandler, jsonRpcHandler } from '@a2a-js/sdk/server/express';
import Database from 'better-sqlite3';
import express from 'express';
import { Kysely, SqliteDialect } from 'kysely';
import { attend } from './child.js';
import { executor } from './stock-executor.js';

function card(port: number): AgentCard {
  const url = `http://127.0.0.1:${port}/`;
  return {
    name: 'stock',
    description: 'Does what the bench asks.',
    version: '1.0.0',
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' }],
    provider: undefined,
    capabilities: { streaming: true, pushNotifications: false, extensions: [] },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
    signatures: [],
  };
}

/** The columns of the SDK's task store, in a file with a write-ahead log: the same settings as Lango's database. */
const TASKS = `CREATE TABLE tasks (tenant TEXT NOT NULL, owner TEXT NOT NULL, id TEXT NOT NULL, context_id TEXT NOT NULL,
  status_last_updated INTEGER NOT NULL, status_state TEXT, status TEXT, artifacts TEXT, history TEXT, metadata TEXT,
  protocol_version TEXT, PRIMARY KEY (tenant, owner, id))`;

/** The same server with its tasks in the SDK's database store. */
export async function serveDatabase(): Promise<void> {
  const home = await mkdtemp(path.join(tmpdir(), 'stock-bench-'));
  const database = new Database(path.join(home, 'tasks.db'));
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = NORMAL');
  database.exec(TASKS);
  const store = new DatabaseTaskStore(new Kysely({ dialect: new SqliteDialect({ database }) }));
  await serve(store, async () => {
    database.close();
    await rm(home, { recursive: true, force: true });
  });
}

/** A server as in the SDK's documentation: express, the default handler, tasks in memory. */
export async function serve(
  store: TaskStore = new InMemoryTaskStore(),
  close: () => Promise<void> = async () => {},
): Promise<void> {
  const app = express();
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const requestHandler = new DefaultRequestHandler(card(port), store, executor);
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  app.use(jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  attend(port, async () => {
    server.closeAllConnections();
    server.close();
    await close();
  });
}
