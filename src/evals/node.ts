import { createClient } from '../a2a/client/client.js';
import type { DefinedAgent } from '../agents/defined-agent.js';
import type { LoadedConfig } from '../config/load.js';
import { tokenCredential } from '../core/credential.js';
import { defined } from '../core/json.js';
import { silentLogger, type Logger } from '../core/logger.js';
import type { OperationClient } from '../core/operation.js';
import { createOriginFetch } from '../core/origin-fetch.js';
import type { Tool } from '../core/tool.js';
import { createEgress } from '../http/egress.js';
import { createOwnerClient } from '../owners/client.js';
import { SERVER_OPERATIONS, type ServerOperations } from '../owners/operations.js';
import { gatherTask } from '../replay/gather.js';
import { parseTaskPage, taskFileText, type TaskFile } from '../replay/task-file.js';

export interface NodeOptions extends LoadedConfig {
  readonly logger: Logger;
  readonly replaceTool: (tool: Tool) => Tool;
  readonly agents?: readonly DefinedAgent[] | undefined;
  readonly isTrial?: true;
}

/** Makes a server of a configuration, which has not started. */
export type CreateApp = (options: NodeOptions) => {
  start(): Promise<{ readonly origin: string; readonly token: string | undefined }>;
  stop(): Promise<void>;
};

/** A server that runs for one case. */
export type EvalNode = Awaited<ReturnType<typeof startNode>>;

interface ForkWishes {
  readonly at: number;
  readonly message: string | undefined;
  readonly agent: string | undefined;
}

const REQUEST_TIMEOUT_MS = 60_000;

export async function startNode(createApp: CreateApp, options: NodeOptions) {
  const app = createApp({ ...options, isTrial: true });
  const { origin, token } = await app.start();
  const { host } = new URL(origin);
  const egress = createEgress({ allowPrivate: [host], timeoutMs: REQUEST_TIMEOUT_MS, logger: silentLogger });
  const fetch = createOriginFetch({ fetch: egress, origin, credential: tokenCredential(token) });
  const owner = createOwnerClient(SERVER_OPERATIONS, { url: origin, fetch });
  const client = createClient({ url: origin, fetch: egress, ...(token !== undefined && { token }) });
  return {
    client,
    /** Reads a task with the tasks below it. */
    gather: (taskId: string) => gatherFrom(owner, taskId),
    /** Continues a recorded task after an event. Again with the same record, it finds the task that it began. */
    async fork(record: TaskFile, { at, message, agent }: ForkWishes) {
      const { taskId: of } = await owner.importTask({ content: Buffer.from(taskFileText(record)) });
      const to = defined({ agent });
      const { tasks } = await client.list(to);
      const views = await Promise.all(tasks.map(({ id }) => client.get({ taskId: id, ...to })));
      const begun = views.find(({ fork }) => fork?.taskId === of);
      if (begun) return { taskId: begun.id, contextId: begun.contextId };
      return owner.forkTask({ taskId: of, at, results: [], tools: 'live', ...defined({ message }) });
    },
    [Symbol.asyncDispose]: () => app.stop(),
  };
}

/** Reads a task with the tasks below it, on all nodes that show them to the owner. */
export function gatherFrom(owner: OperationClient<ServerOperations>, taskId: string): Promise<TaskFile> {
  return gatherTask(taskId, {
    readPage: async ({ taskId: id, after, via }) =>
      parseTaskPage(await owner.readTaskRecord({ taskId: id, after, via: via.join() })),
    readCard: async (name) => (await owner.readCard({ name })).card,
  });
}
