import { z } from 'zod';
import type { Peer } from '../core/agent.js';
import type { FunctionCall, FunctionSpec } from '../core/model.js';
import { argumentReader } from './arguments.js';

/** The delegation function's fixed name (requirement D1). */
export const TRANSFER_NAME = 'transfer_to_agent';

const LONGEST_REQUEST = 32_000;

const REQUEST =
  'What the agent is to do, complete in itself, with what other agents found: it does not see their results.';
const FINAL =
  'True when its answer is the whole answer for the user: it goes to them directly and you are not asked again. Only without another call beside it.';

const fields = {
  agent_name: z.string().describe('The exact name of the agent.'),
  request: z.string().min(1).max(LONGEST_REQUEST).describe(REQUEST),
  final: z.boolean().optional().describe(FINAL),
};

const transferSchema = z.object(fields);
export type Transfer = z.infer<typeof transferSchema>;

/** Accepts any name: for a name outside the enum, the model gets the valid names instead of a schema error. */
export const transferReader = argumentReader(transferSchema);

/** Describes the function for these agents; undefined without agents. */
export function transferSpec(agents: readonly Pick<Peer, 'name'>[]): FunctionSpec | undefined {
  const [first, ...others] = agents.map(({ name }) => name);
  if (first === undefined) return undefined;
  const named = z.object({ ...fields, agent_name: z.enum([first, ...others]).describe('The agent to ask.') });
  return {
    name: TRANSFER_NAME,
    description:
      'Delegate a request to one agent. Call it several times in one answer to have agents work at once.',
    parameters: argumentReader(named).parameters,
  };
}

/** Returns the agent that a call delegates to with this value of `final`; undefined for any other call. */
export function delegationTo(call: FunctionCall, final: boolean): string | undefined {
  if (call.name !== TRANSFER_NAME || call.arguments === undefined) return undefined;
  const parsed = transferReader.parse(call.arguments);
  if ('problem' in parsed || (parsed.input.final ?? false) !== final) return undefined;
  return parsed.input.agent_name;
}
