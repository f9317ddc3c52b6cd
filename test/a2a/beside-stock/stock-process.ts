import { AgentCard } from '@a2a-js/sdk';
import type { AgentCardSignatureGenerator } from '@a2a-js/sdk';
import type { PushNotificationStore, TaskStore, User } from '@a2a-js/sdk/server';
import { DefaultRequestHandler } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler } from '@a2a-js/sdk/server/express';
import { A2AService, grpcService } from '@a2a-js/sdk/server/grpc';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import express from 'express';
import { CARD_PATH } from '../../../src/core/card.js';
import { EXTENSIONS } from '../../../src/core/extensions.js';
import { TOKEN } from '../../support/a2a-node.js';
import { cardJson, listen } from '../client/stock-server.js';
import type { Puppet } from './puppet.js';

export interface StockParts {
  readonly puppet: Puppet;
  readonly tasks: TaskStore;
  readonly pushes: PushNotificationStore;
  readonly push: boolean;
  readonly sign: AgentCardSignatureGenerator;
}

export interface StockProcess {
  readonly origin: string;
  /** Host and port of the gRPC binding. */
  readonly grpc: string;
  close(): Promise<void>;
}

/** One process of a stock server: all three bindings, a card, and callers told apart by their token. */
export async function startStockProcess({
  puppet,
  tasks,
  pushes,
  ...parts
}: StockParts): Promise<StockProcess> {
  const app = express();
  const listening = await listen(app);
  const card = AgentCard.fromJSON(stockCard(listening.origin, parts.push));
  const handler = new DefaultRequestHandler(
    ...([card, tasks, puppet, undefined, pushes, undefined, card, parts.sign] as const),
  );
  const options = {
    requestHandler: handler,
    userBuilder: async (request: express.Request) => knownBy(request.headers.authorization),
  };
  const [rpc, rest] = [jsonRpcHandler(options), restHandler(options)];
  app.use(CARD_PATH, agentCardHandler({ agentCardProvider: handler }));
  app.use((request, response, next) => (request.path === '/' ? rpc : rest)(request, response, next));
  const server = new Server();
  server.addService(
    A2AService,
    grpcService({
      requestHandler: handler,
      userBuilder: async ({ metadata }) => knownBy(metadata.get('authorization')[0]?.toString()),
    }),
  );
  return {
    origin: listening.origin,
    grpc: await bind(server),
    async close() {
      server.forceShutdown();
      await listening.close();
    },
  };
}

function stockCard(origin: string, pushNotifications: boolean) {
  const bindings = ['JSONRPC', 'HTTP+JSON', 'GRPC'];
  const extensions = Object.values(EXTENSIONS).map((uri) => ({ uri }));
  const json = {
    capabilities: { streaming: true, pushNotifications, extendedAgentCard: true, extensions },
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
  };
  return cardJson(origin, { bindings, json });
}

function bind(server: Server): Promise<string> {
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(`127.0.0.1:${port}`),
    );
  });
}

const NAMED = 'Bearer name:';

/** The caller of a request, as the SDK intends it: no credentials means anonymous, wrong credentials throw. */
function knownBy(authorization: string | undefined): User {
  if (authorization === undefined) return { isAuthenticated: false, userName: '' };
  if (authorization === `Bearer ${TOKEN}`) return { isAuthenticated: true, userName: 'default' };
  if (authorization.startsWith(NAMED))
    return { isAuthenticated: true, userName: authorization.slice(NAMED.length) };
  throw new Error('that token is not good');
}
