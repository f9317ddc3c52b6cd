import { LangoError } from '../../core/errors.js';
import type { AgentLimits } from '../../core/limits.js';
import type { Grant } from '../../core/task.js';
import { narrowGrant } from '../../core/task.js';
import type { ChainMark } from '../translate/extensions.js';

export interface GrantRules {
  readonly limits: Pick<AgentLimits, 'depth' | 'tokens'>;
  /** This agent in a chain: `name@node`. */
  readonly self: string;
}

/**
 * What an incoming task may do: the limits of this node, narrowed by what its sender says is left. Throws
 * `limit-reached` for a delegation in a cycle, too deep, or without tokens. A deadline that passed is no
 * reason here: the journal holds runs to it, and a repeated message must find the task it once began.
 */
export function createGrant(rules: GrantRules): (mark: ChainMark) => Grant {
  const { limits, self } = rules;
  return ({ grant: asked }) => {
    const chain = asked.chain ?? [];
    if (chain.includes(self)) throw refused(`${self} already stands in this chain of delegations`);
    const base: Grant = { chain, depth: limits.depth - chain.length, tokens: limits.tokens };
    const grant = narrowGrant(base, asked);
    if (grant.depth < 0) throw refused('the chain of delegations is too deep');
    if (grant.tokens !== undefined && grant.tokens <= 0) throw refused('this delegation has no tokens left');
    return grant;
  };
}

function refused(message: string): LangoError {
  return new LangoError('limit-reached', message);
}
