import { LangoError } from '../../core/errors.js';
import type { AgentLimits } from '../../core/agent.js';
import type { Caller } from '../../core/identity.js';
import { narrowGrant, type Grant } from '../../core/task.js';
import type { ChainMark } from '../translate/extensions.js';

interface GrantRules {
  readonly limits: Pick<AgentLimits, 'depth' | 'tokens' | 'cost'>;
  /** The name of this agent in a delegation chain: `name@node`. */
  readonly self: string;
  /** The only tools that may run for a caller; undefined allows all. Default: all tools for every caller. */
  readonly toolsFor?: (caller: Caller) => readonly string[] | undefined;
}

/**
 * Makes the function that computes the grant of an incoming task: the limits of this node, narrowed by the rest of the
 * sender's grant. It throws `limit-reached` for a delegation in a cycle, too deep, or without tokens. It accepts a passed
 * deadline: the journal enforces deadlines, and a repeated message must find the task that it started.
 */
export function createGrant(rules: GrantRules): (mark: ChainMark, caller: Caller) => Grant {
  const { limits, self, toolsFor } = rules;
  return ({ grant: asked }, caller) => {
    const chain = asked.chain ?? [];
    if (chain.includes(self))
      throw refused(
        `${self} is in this chain of delegations already, so delegating to it again would go in a circle.`,
      );
    const tools = toolsFor?.(caller);
    const base: Grant = {
      chain,
      depth: limits.depth - chain.length,
      tokens: limits.tokens,
      ...(limits.cost && { cost: limits.cost }),
      ...(tools === undefined ? {} : { tools }),
      ...(caller.scopes === undefined ? {} : { scopes: [...caller.scopes] }),
    };
    const grant = narrowGrant(base, asked);
    if (grant.depth < 0)
      throw refused(`The chain of delegations is too deep: it has ${chain.length} agents before ${self}.`);
    if (grant.tokens !== undefined && grant.tokens <= 0) throw refused('This delegation has no tokens left.');
    if (grant.cost && grant.cost.amount <= 0) throw refused('This delegation has no money left to spend.');
    return grant;
  };
}

const refused = (message: string): LangoError => new LangoError('limit-reached', message);
