import { z } from 'zod';
import type { Question } from '../core/task.js';
import type { AgentFunction } from './agent-function.js';
import { refuse, reply } from './agent-function.js';
import { argumentReader } from './arguments.js';
import { askPerson } from './asking.js';

const LONGEST_TEXT = 4_000;

const reasonReader = argumentReader(
  z.object({ reason: z.string().min(1).max(LONGEST_TEXT).describe('Why, in one sentence.') }),
);

/** How a sub-agent says that a request is not its own: a typed outcome, never prose (requirement D4). */
export const declineRequest: AgentFunction = {
  name: 'decline_request',
  spec: {
    name: 'decline_request',
    description:
      'Decline the whole request because it is outside what you do, so that it can go to somebody else. Call nothing else with it.',
    get parameters() {
      return reasonReader.parameters;
    },
    examples: [],
  },
  first: true,
  async call(call) {
    const parsed = reasonReader.parse(call.arguments);
    if ('problem' in parsed) return refuse(call, `invalid arguments: ${parsed.problem}`);
    return { type: 'end', end: { state: 'rejected', reason: 'declined', text: parsed.input.reason } };
  },
};

const questionReader = argumentReader(
  z.object({ question: z.string().min(1).max(LONGEST_TEXT).describe('One clear question.') }),
);

/** How an agent asks the person for something only they know; the task waits. */
export const askUser: AgentFunction = {
  name: 'ask_user',
  spec: {
    name: 'ask_user',
    description:
      'Ask the user for something you need and cannot find out yourself. The task waits for the answer.',
    get parameters() {
      return questionReader.parameters;
    },
    examples: [],
  },
  first: false,
  async call(call) {
    const parsed = questionReader.parse(call.arguments);
    if ('problem' in parsed) return refuse(call, `invalid arguments: ${parsed.problem}`);
    const question: Question = {
      hash: call.key,
      kind: 'input',
      text: parsed.input.question,
      author: call.run.task.agent,
    };
    const verdict = askPerson(question, call.run, call.step);
    switch (verdict.decision) {
      case 'open':
        return verdict.outcome;
      case 'approve':
        return reply(call, verdict.text ?? 'Yes.', false);
      case 'deny':
        return reply(call, verdict.text ?? 'The user does not answer this.', true);
      case 'expired':
        return reply(call, 'The user did not answer this in time.', true);
    }
  },
};

/** Names that no tool may have. */
export const CONTROL_NAMES: readonly string[] = [declineRequest.name, askUser.name];
