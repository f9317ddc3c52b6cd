import { z } from 'zod';
import type { Question } from '../core/task.js';
import { reply, typedFunction } from './agent-function.js';
import { askPerson } from './asking.js';

const LONGEST_TEXT = 4_000;

/** Lets a sub-agent decline a request as a typed outcome instead of prose (requirement D4). */
export const declineRequest = typedFunction(
  {
    name: 'decline_request',
    description:
      'Decline a request that is outside what you do, so that another agent gets it. Call nothing else with it.',
    schema: z.object({ reason: z.string().min(1).max(LONGEST_TEXT) }),
    first: true,
  },
  async (_, { reason }) => ({ type: 'end', end: { state: 'rejected', reason: 'declined', text: reason } }),
);

/** Lets an agent ask the person a question; the task waits for the reply. */
export const askUser = typedFunction(
  {
    name: 'ask_user',
    description: 'Ask the user for what you need and cannot find out yourself.',
    schema: z.object({ question: z.string().min(1).max(LONGEST_TEXT) }),
  },
  async (call, { question: text }) => {
    const question: Question = { hash: call.key, kind: 'input', text, author: call.run.task.agent };
    const verdict = askPerson(question, call.run, call.step);
    switch (verdict.decision) {
      case 'open':
        return verdict.outcome;
      case 'approve':
        return reply(call, verdict.text ?? 'Yes.', false);
      case 'deny':
        return reply(call, verdict.text ?? 'The user does not reply to this.', true);
      case 'refused':
        return reply(call, 'The user was not asked: too many questions of this task are open.', true);
      case 'expired':
        return reply(call, 'The user did not reply to this in time.', true);
    }
  },
);

/** The names of these functions, which no tool may have. */
export const CONTROL_NAMES: readonly string[] = [declineRequest.name, askUser.name];
