import { LangoError } from '../core/errors.js';
import type { OperationHandlers, OwnerContext } from '../core/operation.js';
import { scopeKey, type Scope } from '../core/task.js';
import type { ServerOperations } from './operations.js';

type Handlers = OperationHandlers<ServerOperations>;
type AddedAgent = Parameters<Handlers['addAgent']>[0];
type AgentState = Awaited<ReturnType<Handlers['addAgent']>>['agent'];

interface OperatorParts {
  readonly isOperator: (caller: OwnerContext) => boolean;
  /** Advice for callers who are no operators. */
  readonly hint: string;
  /** Reads the owners after a cursor, at most `limit`. */
  readonly listOwners: (after: Scope, limit: number) => Promise<readonly Scope[]>;
  /** The remote agents that operators add and remove. */
  readonly agents: {
    add(agent: AddedAgent): Promise<AgentState>;
    remove(name: string): Promise<void>;
  };
}

const OWNERS_PER_PAGE = 100;

/** Implements the operations that are for operators. Each rejects with `forbidden` for other callers. */
export function operatorHandlers(
  parts: OperatorParts,
): Pick<Handlers, 'addAgent' | 'removeAgent' | 'listOwners'> {
  const assertOperator = (caller: OwnerContext): void => {
    if (parts.isOperator(caller)) return;
    throw new LangoError('forbidden', 'This is for an operator of the server.', { hint: parts.hint });
  };
  return {
    async listOwners(after, caller) {
      assertOperator(caller);
      const owners = await parts.listOwners(after, OWNERS_PER_PAGE);
      const isLast = owners.length < OWNERS_PER_PAGE;
      return { owners: owners.filter((one) => scopeKey(one) !== scopeKey(caller.scope)), isLast };
    },
    async addAgent(agent, caller) {
      assertOperator(caller);
      return { agent: await parts.agents.add(agent) };
    },
    async removeAgent({ name }, caller) {
      assertOperator(caller);
      await parts.agents.remove(name);
      return { removed: name };
    },
  };
}
