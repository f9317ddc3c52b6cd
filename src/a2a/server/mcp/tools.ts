import type { Tool } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Caller } from '../../../core/identity.js';
import type { JsonObject } from '../../../core/json.js';
import type { PublishedAgent } from '../operations.js';
import { parseAs } from '../proto-json.js';
import { MAX_ID_LENGTH } from '../../translate/extensions.js';

const MAX_REPLIES = 64;
const MAX_FILES = 64;

const id = z.string().min(1).max(MAX_ID_LENGTH);
const optionalId = id.optional();

const reply = z.strictObject({
  hash: id.describe('The hash of the question, exactly as it was given.'),
  decision: z.enum(['approve', 'deny']),
  text: z.string().optional().describe('Why, or the reply in words.'),
});

const file = z.strictObject({
  bytes: z.base64().describe('The content, in base64.'),
  mediaType: id.describe('Such as text/csv or image/png.'),
  name: optionalId,
});

/** The arguments of every tool. Which of them belong together is checked by `parseArguments`. */
const callArguments = z.strictObject({
  message: z.string().min(1).optional().describe('What the agent is asked, in words.'),
  files: z.array(file).min(1).max(MAX_FILES).optional().describe('Files that go along with the message.'),
  contextId: optionalId.describe('The conversation to continue, from an earlier result. Default: a new one.'),
  taskId: optionalId.describe(
    'A task from an earlier result: to reply to its questions, or alone, to wait for its result.',
  ),
  answers: z
    .array(reply)
    .min(1)
    .max(MAX_REPLIES)
    .optional()
    .describe("A person's decisions on the open questions of the task. Never decide in a person's place."),
  cancel: z.literal(true).optional().describe('Cancels the task.'),
  messageId: optionalId.describe(
    'A name of your choice for this message: with the same name a repeated call finds the same task.',
  ),
});

export type CallArguments = z.infer<typeof callArguments>;

const checkedArguments = callArguments
  .refine(({ message, answers, taskId }) => (message ?? answers ?? taskId) !== undefined, {
    path: ['message'],
    error: 'must be given, or the taskId of a task',
  })
  .refine(({ files, message }) => files === undefined || message !== undefined, {
    path: ['files'],
    error: 'need a message that they go along with',
  })
  .refine(({ answers, taskId }) => answers === undefined || taskId !== undefined, {
    path: ['answers'],
    error: 'need the taskId of the task that asked',
  })
  .refine(({ cancel, message, answers }) => !cancel || (message ?? answers) === undefined, {
    path: ['cancel'],
    error: 'must come with a taskId, and with neither a message nor answers',
  });

/** Throws `invalid-input` with what is wrong. */
export function parseArguments(given: unknown): CallArguments {
  return parseAs(checkedArguments, given);
}

/** One tool for each agent that the caller may use, in the words of its card. */
export function toolsFor(agents: ReadonlyMap<string, PublishedAgent>, { scopes }: Caller): Tool[] {
  const inputSchema = z.toJSONSchema(callArguments, { io: 'input' }) as Tool['inputSchema'] & JsonObject;
  return [...agents.values()]
    .filter(({ scope }) => scope === undefined || scopes === undefined || scopes.has(scope))
    .map(({ name, card }) => {
      const { description, skills } = card();
      const about = skills.map((skill) => `- ${skill.name}: ${skill.description}`);
      return {
        name,
        description: [description, ...about].join('\n'),
        inputSchema,
        annotations: {
          readOnlyHint: false,
          destructiveHint: true,
          idempotentHint: false,
          openWorldHint: true,
        },
      };
    });
}
