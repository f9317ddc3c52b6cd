import { AgentCard } from '@a2a-js/sdk';
import type { AgentCardSignatureGenerator, Task } from '@a2a-js/sdk';
import type { ServerCallContext } from '@a2a-js/sdk/server';
import { DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler } from '@a2a-js/sdk/server/express';
import express from 'express';
import { CARD_PATH } from '../../../src/a2a/server/discovery.js';
import { EXTENSIONS } from '../../../src/a2a/translate/extensions.js';
import { TOKEN } from '../../support/a2a-node.js';
import type { Listening } from '../client/stock-server.js';
import { cardJson, listen } from '../client/stock-server.js';
import type { Puppet } from './puppet.js';

export interface StockParts {
  readonly puppet: Puppet;
  readonly store: MeetingStore;
  readonly push: boolean;
  readonly sign: AgentCardSignatureGenerator;
}

/** One process of a stock server: both HTTP bindings at one address, its card, and callers told apart by a token. */
export async function startStockProcess({ puppet, store, push, sign }: StockParts): Promise<Listening> {
  const app = express();
  const listening = await listen(app);
  const card = AgentCard.fromJSON(
    cardJson(listening.origin, {
      json: {
        capabilities: {
          streaming: true,
          pushNotifications: push,
          extendedAgentCard: true,
          extensions: Object.values(EXTENSIONS).map((uri) => ({ uri })),
        },
        securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
        securityRequirements: [{ schemes: { bearer: { list: [] } } }],
      },
    }),
  );
  const handler = new DefaultRequestHandler(
    card,
    store,
    puppet,
    ...([undefined, undefined, undefined, card, sign] as const),
  );
  const options = { requestHandler: handler, userBuilder: knownBy };
  const [rpc, rest] = [jsonRpcHandler(options), restHandler(options)];
  app.use(CARD_PATH, agentCardHandler({ agentCardProvider: handler }));
  app.use((request, response, next) => (request.path === '/' ? rpc : rest)(request, response, next));
  return listening;
}

/** As the SDK means it: who says nothing is anonymous, and who says something wrong makes it throw. */
async function knownBy(request: express.Request) {
  const { authorization } = request.headers;
  if (authorization === undefined) return { isAuthenticated: false, userName: '' };
  if (authorization !== `Bearer ${TOKEN}`) throw new Error('that token is not good');
  return { isAuthenticated: true, userName: 'default' };
}

/** The SDK's store in memory, with an eye on what is written and a way to have two writers at once. */
export class MeetingStore extends InMemoryTaskStore {
  /** By task, in characters of JSON. */
  readonly written = new Map<string, number>();
  #meeting: { waiting: number; both: PromiseWithResolvers<void> } | undefined;

  letTwoMeet(): void {
    this.#meeting = { waiting: 2, both: Promise.withResolvers() };
  }

  override async save(task: Task, context: ServerCallContext): Promise<void> {
    this.written.set(task.id, (this.written.get(task.id) ?? 0) + JSON.stringify(task).length);
    const meeting = this.#meeting;
    if (meeting) {
      meeting.waiting -= 1;
      if (meeting.waiting === 0) {
        this.#meeting = undefined;
        meeting.both.resolve();
      }
      await meeting.both.promise;
    }
    return super.save(task, context);
  }
}
