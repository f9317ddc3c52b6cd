import { z } from 'zod';
import { evaluationRun, evaluations } from '../core/evaluations.js';
import { comparison, forkRequest } from '../core/fork.js';
import type { OperationTable } from '../core/operation.js';
import { inspectedRequest, inspection } from '../core/inspection.js';
import { agentStatus, cardFinding, knownNode, mapEdge, nodeStatus, taskTrace } from '../core/node-status.js';
import { billed, overview } from '../core/overview.js';
import { requestReport, sentRequest } from '../core/sent-request.js';

const MAX_LEVELS = 5;
const MOST_HOURS = 31 * 24;
const MOST_NODES = 100;

/** A number in a query string. */
const integer = z.coerce.number<number | string>().int();
const levels = integer.min(0).max(MAX_LEVELS).default(MAX_LEVELS);
const lastHours = z.object({ hours: integer.min(1).max(MOST_HOURS).default(24) });

const nothing = z.object({});
const counts = z.record(z.string(), z.number());
const texts = z.array(z.string()).readonly();
/** An exported file. */
const content = z.custom<Buffer>((value) => Buffer.isBuffer(value));

const billRow = z.object({ day: z.string(), ...billed });

/** The operations on the live runs of `lango eval` in the data folder of the server; all for operators. */
const EVALUATION_OPERATIONS = {
  /** Lists the newest runs, and the newest reports of `evaluations.sample`. */
  listEvaluations: {
    method: 'get',
    path: '/lango/evaluations',
    input: nothing,
    result: evaluations,
  },
  /** Reads a run. `before`: the run that it is compared with. Default: the one before it that has the same cases. */
  readEvaluation: {
    method: 'get',
    path: '/lango/evaluations/:run',
    query: ['before'],
    input: z.object({ run: z.string(), before: z.string().optional() }),
    result: evaluationRun,
  },
  /** Stores the task of a result, by its place in the list, as `importTask` does. */
  importEvaluatedTask: {
    method: 'post',
    path: '/lango/evaluations/:run/tasks',
    audited: ['run'],
    input: z.strictObject({ run: z.string(), result: z.number().int().min(0) }),
    result: z.object({ taskId: z.string(), agent: z.string() }),
  },
} as const satisfies OperationTable;

/** The operations of owners on the data and the tasks that the server itself keeps, and on its agents. */
export const SERVER_OPERATIONS = {
  ...EVALUATION_OPERATIONS,
  listDataKinds: {
    method: 'get',
    path: '/lango/data',
    input: nothing,
    result: z.object({ kinds: texts }),
  },
  /** Reads one page; `after` is the `next` of the page before. */
  readData: {
    method: 'get',
    path: '/lango/data/:kind',
    isRepeated: true,
    query: ['after'],
    input: z.object({ kind: z.string(), after: z.string().default('') }),
    result: z.object({ items: z.array(z.unknown()).readonly(), next: z.string().optional() }),
  },
  forgetData: {
    method: 'delete',
    path: '/lango/data/:kind',
    query: ['name'],
    input: z.object({ kind: z.string(), name: z.string().regex(/\S/, 'say what is to be forgotten') }),
    result: z.object({ deleted: counts }),
  },
  /** Deletes all data of the caller except secrets and records of money. */
  deleteData: {
    method: 'delete',
    path: '/lango/data',
    input: nothing,
    result: z.object({ deleted: counts }),
  },

  /** Reads one page; `after` is the `next` of the page before. Rows of one day may be on several pages. */
  readBill: {
    method: 'get',
    path: '/lango/bill',
    query: ['after'],
    input: z.object({ after: z.string().default('') }),
    result: z.object({ rows: z.array(billRow).readonly(), next: z.string().optional() }),
  },

  /** Sums up what the caller's tasks of the last hours did; see `Overview`. */
  readOverview: {
    method: 'get',
    path: '/lango/overview',
    query: ['hours'],
    input: lastHours,
    result: overview,
  },

  /** Tells which agent asked which one in the caller's tasks of the last hours, on this node. */
  readMap: {
    method: 'get',
    path: '/lango/map',
    query: ['hours'],
    input: lastHours,
    result: z.object({ edges: z.array(mapEdge).readonly() }),
  },
  /**
   * Names this node, then the nodes of its remote agents: those that are asked on behalf of owners by what they say, with
   * `levels` of theirs, the others by their cards or by the names of their agents.
   */
  readNodes: {
    method: 'get',
    path: '/lango/nodes',
    query: ['levels'],
    input: z.object({ levels }),
    result: z.object({ nodes: z.array(knownNode).max(MOST_NODES).readonly() }),
  },

  /** Reads the spans of a task and of the tasks below it, over a chain of at most `levels` further nodes. */
  readTrace: {
    method: 'get',
    path: '/lango/tasks/:taskId/trace',
    query: ['levels'],
    input: z.object({ taskId: z.string(), levels }),
    result: taskTrace,
  },

  /**
   * Reads the entries of a task after number `after`, as `lango tasks export` writes them. `via`: the agents on the way to
   * the node of the task, each a remote agent of the node before, with commas between them; empty for this node.
   */
  readTaskRecord: {
    method: 'get',
    path: '/lango/tasks/:taskId/record',
    isRepeated: true,
    query: ['after', 'via'],
    input: z.object({
      taskId: z.string(),
      after: integer.min(0).default(0),
      via: z
        .string()
        .regex(/^([\w-]{1,64}(,[\w-]{1,64}){0,4})?$/, 'names of at most 5 agents')
        .default(''),
    }),
    result: z.object({ task: z.record(z.string(), z.unknown()), next: z.number().exactOptional() }),
  },

  /** Builds the request of a turn of a task again, as the model got it. Default of `step`: the last one. Asks nothing. */
  readRequest: {
    method: 'get',
    path: '/lango/tasks/:taskId/request',
    query: ['step'],
    input: z.object({ taskId: z.string(), step: z.string().optional() }),
    result: sentRequest,
  },

  /** Finds the first event at which two tasks part, the same as `lango diff`. */
  compareTasks: {
    method: 'get',
    path: '/lango/tasks/:taskId/comparison',
    query: ['with'],
    input: z.object({ taskId: z.string(), with: z.string() }),
    result: comparison,
  },

  /** Stores the tasks of an exported file as ended tasks of the caller. They are never run. */
  importTask: {
    method: 'post',
    path: '/lango/tasks',
    bytes: 'content',
    input: z.object({ content }),
    result: z.object({ taskId: z.string(), tasks: z.number() }),
  },

  /**
   * Begins a task that shares the events of another one up to number `at`, and goes on by itself. Nothing that was done
   * before is done again.
   */
  forkTask: {
    method: 'post',
    path: '/lango/tasks/:taskId/forks',
    input: forkRequest,
    result: z.object({ taskId: z.string(), contextId: z.string(), agent: z.string(), at: z.number() }),
  },

  /** Compares what models were asked in the tasks of an exported file with what they would be asked now. Asks nothing. */
  compareRequests: {
    method: 'post',
    path: '/lango/tasks/requests',
    bytes: 'content',
    input: z.object({ content }),
    result: requestReport,
  },

  /**
   * Lists the other owners of tasks; for operators. They read an owner's tasks and data with the header `Lango-Owner`, which is
   * `owner` and `tenant` as in a query string.
   */
  listOwners: {
    method: 'get',
    path: '/lango/owners',
    query: ['tenant', 'owner'],
    input: z.object({ tenant: z.string().default(''), owner: z.string().default('') }),
    result: z.object({
      owners: z.array(z.object({ tenant: z.string(), owner: z.string() })).readonly(),
      isLast: z.boolean(),
    }),
  },

  /** Sends one request to an agent by the rules of the server's own requests, and shows what comes back; for operators. */
  inspectAgent: {
    method: 'post',
    path: '/lango/inspect',
    audited: ['method', 'origin'],
    input: inspectedRequest,
    result: inspection,
  },
  /** Reads the card of an agent, local or remote, with its defects. */
  readCard: {
    method: 'get',
    path: '/lango/agents/:name/card',
    input: z.object({ name: z.string() }),
    result: z.object({ card: z.record(z.string(), z.unknown()), findings: z.array(cardFinding).readonly() }),
  },
  readStatus: { method: 'get', path: '/lango/agents', input: nothing, result: nodeStatus },
  /** Adds a remote agent, which is kept over restarts; for operators. The fields are those of `a2a.remoteAgents`. */
  addAgent: {
    method: 'post',
    path: '/lango/agents',
    input: z.strictObject({
      name: z.string(),
      description: z.string().optional(),
      url: z.string(),
      token: z.string().optional(),
      auth: z.record(z.string(), z.unknown()).optional(),
      allowPrivate: z.boolean().optional(),
      relocate: z.boolean().optional(),
      owners: z.enum(['forward', 'shared']).optional(),
      audience: z.string().optional(),
      verify: z.record(z.string(), z.string()).optional(),
    }),
    result: z.object({ agent: agentStatus }),
  },
  /** Removes an agent that was added; for operators. The agent gets no new work, and its current tasks end normally. */
  removeAgent: {
    method: 'delete',
    path: '/lango/agents/:name',
    input: z.object({ name: z.string() }),
    result: z.object({ removed: z.string() }),
  },
} as const satisfies OperationTable;

export type ServerOperations = typeof SERVER_OPERATIONS;
export type EvaluationOperations = typeof EVALUATION_OPERATIONS;
