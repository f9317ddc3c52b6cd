import type { AgentLimits } from '../core/limits.js';
import type { Run, RunEnd } from '../core/run.js';

/**
 * What a task's grant says against working on it here. The sender checks too; a receiver does not rely
 * on it. Undefined when nothing does. A task that was begun is not turned away any more.
 */
export function turnAway(run: Run, nodeId: string, limits: AgentLimits): RunEnd | undefined {
  if (run.attempt > 1) return undefined;
  const { chain, depth, deadline, tokens } = run.grant;
  const self = `${run.task.agent}@${nodeId}`;
  if (chain.includes(self)) {
    return rejected('delegation-cycle', `${run.task.agent} already works on this: ${chain.join(' > ')}.`);
  }
  if (depth < 0 || chain.length > limits.depth) {
    return rejected('limit-depth', 'This request was delegated too deep (agent.limits.depth).');
  }
  if (deadline !== undefined && deadline <= Date.now()) {
    return rejected('limit-seconds', 'The deadline of this request has passed.');
  }
  if (tokens !== undefined && tokens <= 0) {
    return rejected('limit-tokens', 'This request came with no tokens left to use (agent.limits.tokens).');
  }
  return undefined;
}

function rejected(reason: string, text: string): RunEnd {
  return { state: 'rejected', reason, text };
}
