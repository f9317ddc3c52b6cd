import { createClient, type SendRequest, type TaskView } from '../a2a/client/client.js';
import type { DefinedAgent } from '../agents/defined-agent.js';
import type { LoadedConfig } from '../config/load.js';
import { trialConfig } from '../config/trial.js';
import { tokenCredential } from '../core/credential.js';
import { LangoError } from '../core/errors.js';
import { defined } from '../core/json.js';
import { silentLogger, type Logger } from '../core/logger.js';
import type { OperationClient } from '../core/operation.js';
import { createOriginFetch } from '../core/origin-fetch.js';
import type { Tool } from '../core/tool.js';
import { createEgress } from '../http/egress.js';
import { createOwnerClient } from '../owners/client.js';
import { SERVER_OPERATIONS, type ServerOperations } from '../owners/operations.js';
import { gatherTask } from '../replay/collect.js';
import { parseTaskPage, taskFileText, type TaskFile } from '../replay/task-file.js';
import type { ModelEntry } from './case-file.js';

/** The parts of an agent that a case replaces. */
interface Replacements {
  readonly replaceTool?: (tool: Tool) => Tool;
  readonly agents?: readonly DefinedAgent[];
}

export interface NodeParts {
  /** Loads the configuration, with these as further models of `agent.models`. */
  readonly load: (models: Readonly<Record<string, ModelEntry>>) => Promise<LoadedConfig>;
  /** Makes a server of a configuration, which has not started. */
  readonly createApp: (
    options: LoadedConfig & Replacements & { readonly logger: Logger; readonly isTrial: true },
  ) => { start(): Promise<Address>; stop(): Promise<void> };
}

type Address = Readonly<{ origin: string; token: string | undefined }>;

export interface Setting extends Replacements {
  readonly home: string;
  readonly model: ModelEntry | undefined;
  /** A file with rules for all agents. */
  readonly instruction?: string | undefined;
  /** The most money that a task may cost. */
  readonly limit: number | undefined;
}

export type EvalNode = AsyncDisposable & ReturnType<typeof reach>;
export type StartNode = (setting: Setting) => Promise<EvalNode>;

/** Loads the configuration once, with all models that are compared. Returns a function that starts servers with them. */
export async function createNodes(
  entries: readonly ModelEntry[],
  { load, createApp }: NodeParts,
): Promise<StartNode> {
  const nameOf = (entry: ModelEntry): string => `evaluated-${entries.indexOf(entry)}`;
  const loaded = await load({});
  const compared = await load(Object.fromEntries(entries.map((entry) => [nameOf(entry), entry])));
  return async ({ home, model, instruction, limit, ...replacements }) => {
    const { config, ...trial } = trialConfig(loaded, home);
    const { limits } = config.agent;
    const cost = limit === undefined ? limits.cost : Math.min(limits.cost ?? Infinity, limit);
    const agent = {
      ...{ ...config.agent, ...defined({ houseRulesFile: instruction }) },
      limits: { ...limits, ...defined({ cost }) },
    };
    const choice = model && compared.config.agent.models[nameOf(model)];
    const all = { ...config, agent, model: { ...config.model, ...choice } };
    const app = createApp({ ...trial, config: all, logger: silentLogger, isTrial: true, ...replacements });
    return { ...reach(await app.start()), [Symbol.asyncDispose]: () => app.stop() };
  };
}

const REQUEST_TIMEOUT_MS = 60_000;
/** A task has a limit of time of its own. */
const neverAborted = (): AbortSignal => new AbortController().signal;

function reach({ origin, token }: Address) {
  const { host } = new URL(origin);
  const egress = createEgress({ allowPrivate: [host], timeoutMs: REQUEST_TIMEOUT_MS, logger: silentLogger });
  const fetch = createOriginFetch({ fetch: egress, origin, credential: tokenCredential(token) });
  const owner = createOwnerClient(SERVER_OPERATIONS, { url: origin, fetch });
  const client = createClient({ url: origin, fetch: egress, ...defined({ token }) });
  return {
    /** Reads a task with the tasks below it. */
    gather: (taskId: string) => gatherFrom(owner, taskId),
    /** Sends a message. Resolves with the task once it has ended, or waits for a person. Rejects without a task. */
    async send(request: SendRequest): Promise<TaskView> {
      let { taskId } = request;
      let said = '';
      for await (const event of client.send(request, neverAborted())) {
        if (event.type === 'task') ({ taskId } = event);
        if (event.type === 'end') said = event.text;
      }
      if (taskId === undefined) throw new LangoError('unavailable', `The message made no task: ${said}`);
      return client.get({ taskId, ...defined({ agent: request.agent }) });
    },
    /**
     * Continues a recorded task after an event. Again with the same record, it finds the task that it began. Resolves with
     * the task once it has ended, or waits for a person.
     */
    async fork(record: TaskFile, at: number, more: { message?: string; agent?: string }): Promise<TaskView> {
      const { message, ...to } = more;
      const { taskId: of } = await owner.importTask({ content: Buffer.from(taskFileText(record)) });
      const { tasks } = await client.list(to);
      const views = await Promise.all(tasks.map(({ id }) => client.get({ taskId: id, ...to })));
      const begun = views.find(({ fork }) => fork?.taskId === of)?.id;
      const taskId = begun ?? (await owner.forkTask({ taskId: of, at, ...defined({ message }) })).taskId;
      for await (const { type } of client.subscribe({ taskId, ...to }, neverAborted()))
        if (type === 'end') break;
      return client.get({ taskId, ...to });
    },
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
