import { LangoError } from '../core/errors.js';
import type { Journal } from '../core/journal.js';
import type { OperationHandlers, OperationTable, OwnerContext } from '../core/operation.js';
import { mapMembers } from '../core/json.js';
import type { InspectedRequest, Inspection } from '../core/inspection.js';
import type { AgentState } from '../core/node-status.js';
import { scopeKey } from '../core/task.js';
import type { RetentionStore, TaskStore } from '../stores/tasks.js';
import type { EvaluationOperations, ServerOperations } from './operations.js';

/** The operations on a node or a data folder, with their implementations. */
export interface OwnerService {
  readonly table: OperationTable;
  readonly handlers: OperationHandlers<OperationTable>;
  /** The largest body of an operation that takes bytes. */
  readonly bodyBytes: (operation: string) => number;
}

/** The operations of the server itself. */
export type OwnerParts = OperationHandlers<ServerOperations>;
type ForOperators = Pick<
  OwnerParts,
  'addAgent' | 'removeAgent' | 'listOwners' | 'inspectAgent' | keyof EvaluationOperations
>;

type AddedAgent = Parameters<OwnerParts['addAgent']>[0];

interface OperatorParts {
  readonly isOperator: (caller: OwnerContext) => boolean;
  /** Advice for callers who are no operators. */
  readonly hint: string;
  readonly retention: Pick<RetentionStore, 'listOwners'>;
  readonly inspect: (request: InspectedRequest, signal: AbortSignal) => Promise<Inspection>;
  readonly evaluations: OperationHandlers<EvaluationOperations>;
  /** The remote agents that operators add and remove. */
  readonly agents: {
    add(agent: AddedAgent): Promise<AgentState>;
    remove(name: string): Promise<void>;
  };
}

const OWNERS_PER_PAGE = 100;

/** Implements the operations that are for operators. Each rejects with `forbidden` for other callers. */
export function operatorHandlers(parts: OperatorParts): ForOperators {
  const { agents, retention, inspect, evaluations } = parts;
  const handlers: ForOperators = {
    async listOwners(after, { scope }) {
      const owners = await retention.listOwners(after, OWNERS_PER_PAGE);
      const isLast = owners.length < OWNERS_PER_PAGE;
      return { owners: owners.filter((one) => scopeKey(one) !== scopeKey(scope)), isLast };
    },
    addAgent: async (agent) => ({ agent: await agents.add(agent) }),
    inspectAgent: (request, { signal }) => inspect(request, signal),
    async removeAgent({ name }) {
      await agents.remove(name);
      return { removed: name };
    },
    ...evaluations,
  };
  const guarded =
    (perform: Handler): Handler =>
    async (input, caller) => {
      if (parts.isOperator(caller)) return perform(input, caller);
      throw new LangoError('forbidden', 'This is for an operator of the server.', { hint: parts.hint });
    };
  const all = handlers as unknown as OwnerService['handlers'];
  return mapMembers(all, guarded) as unknown as ForOperators;
}

type Handler = OwnerService['handlers'][string];

/** One call with unchecked fields. */
interface OwnerCall extends OwnerContext {
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Checks the fields of a call and performs it. Rejects with `invalid-input`, naming each wrong field. */
export async function performCall({ table, handlers }: OwnerService, call: OwnerCall): Promise<unknown> {
  const { name, fields, ...context } = call;
  const operation = table[name];
  const perform = handlers[name];
  if (!operation || !perform) throw new LangoError('not-found', `This server has no operation ${name}.`);
  const { success, data, error } = operation.input.safeParse(fields);
  if (success) return perform(data, context);
  // The error repeats no value, because a value may be a secret.
  const violations = error.issues.map((one) => ({ field: one.path.join('.'), description: one.message }));
  const problems = violations.map(({ field, description }) => `${field}: ${description}`);
  throw new LangoError('invalid-input', `${problems.join('; ')}.`, { violations });
}

/** The operations that need a server. Each rejects with `unavailable`. */
export const NEEDS_SERVER = {
  ...{ readCard: noServer, readStatus: noServer, importTask: noServer },
  ...{ compareRequests: noServer, readOverview: noServer, readMap: noServer },
  ...{ readRequest: noServer, forkTask: noServer },
  ...{ addAgent: noServer, removeAgent: noServer, listOwners: noServer, inspectAgent: noServer },
  ...{ listEvaluations: noServer, readEvaluation: noServer, importEvaluatedTask: noServer },
} satisfies Partial<OwnerParts>;

async function noServer(): Promise<never> {
  const hint = 'Start one with: lango serve';
  throw new LangoError('unavailable', 'No server runs with this data folder.', { hint });
}

/** The tasks of a node that does not run: all can be read, none can be canceled. */
export function storedTasks(tasks: TaskStore): Pick<Journal, 'get' | 'read' | 'cancel'> {
  return {
    get: (scope, taskId) => tasks.get(scope, taskId),
    read: (taskId, after, limit) => tasks.read(taskId, after, limit),
    async cancel(_scope, taskId) {
      const text = `Task ${taskId} has not ended, and no server runs that could cancel it.`;
      const hint = 'Start the server with "lango serve" and run the command again.';
      throw new LangoError('unavailable', text, { hint });
    },
  };
}
