import { z } from 'zod';
import { TASK_STATES } from '../core/task.js';

/**
 * The forms of journal entries in a file. A file comes from outside, so each member that the server reads is checked;
 * members that are not named here are kept as they are.
 */

const text = z.string();
const amount = z.number().min(0);
const flag = z.boolean();
const json = z.json();
const object = z.record(z.string(), json);
const state = z.enum(TASK_STATES);

/** The form of an entry, or of an activity, of a type. */
const typed = <Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  z.looseObject({ type: z.literal(type), ...shape });

const money = z.looseObject({ amount, currency: text });

export const grant = z.looseObject({
  chain: z.array(text),
  depth: z.number().int(),
  deadline: amount.optional(),
  tokens: z.number().optional(),
  cost: z.looseObject({ ...money.shape, amount: z.number() }).optional(),
  tools: z.array(text).optional(),
  fromOutside: flag.optional(),
});

const extras = { mediaType: text.optional(), filename: text.optional(), metadata: object.optional() };
const part = z.union([
  z.looseObject({ kind: z.literal('text'), text, ...extras }),
  z.looseObject({ kind: z.literal('data'), data: json, ...extras }),
  z.looseObject({ kind: z.literal('file'), bytes: text, ...extras }),
  z.looseObject({ kind: z.literal('file'), url: text, ...extras }),
]);
const parts = z.array(part);
const message = z.looseObject({
  id: text,
  role: z.enum(['user', 'agent']),
  parts,
  metadata: object.optional(),
  extensions: z.array(text).optional(),
  referenceTaskIds: z.array(text).optional(),
});
const artifact = z.looseObject({
  id: text,
  name: text.optional(),
  description: text.optional(),
  parts,
  metadata: object.optional(),
  extensions: z.array(text).optional(),
});

const tokens = { input: amount, output: amount, cached: amount, written: amount.optional() };
const row = z.looseObject({
  ...tokens,
  node: text,
  agent: text,
  model: text,
  currency: text,
  cost: amount.optional(),
});
const usage = z.looseObject({ ...tokens, rows: z.array(row).optional() });

const answerBlock = z.union([
  typed('text', { text }),
  typed('function-call', {
    ...{ id: text, name: text, arguments: object.optional(), invalid: text.optional() },
    isCut: z.literal(true).optional(),
  }),
  typed('opaque', { provider: text, block: object }),
]);
const asked = z.looseObject({
  ...{ model: text, hash: text },
  ...{ system: z.array(text).optional(), functions: z.record(text, text).optional() },
});
const functionResult = z.looseObject({
  id: text,
  name: text,
  content: text,
  isError: flag,
  images: parts.optional(),
});

const question = z.looseObject({
  ...{ hash: text, kind: z.enum(['approval', 'outcome-unknown', 'input']), text, author: text },
  ...{ tool: text.optional(), arguments: object.optional(), answerSchema: object.optional() },
  replies: z.record(z.enum(['approve', 'deny']), object).optional(),
  expiresAt: amount.optional(),
});
const questions = z.array(question).optional();

const activity = z.union([
  typed('turn-start', {}),
  typed('thinking', { text }),
  typed('text', {
    ...{ text, id: text.optional(), replace: flag.optional(), waitMs: amount.optional() },
  }),
  typed('tool-call', { tool: text, arguments: object }),
  typed('tool-result', { tool: text, isError: flag, text }),
  typed('delegation-start', { agent: text, request: text }),
  typed('delegation-end', { agent: text, state, reason: text.optional() }),
]);

const ended = z.enum(['completed', 'failed', 'canceled', 'rejected', 'input-required', 'auth-required']);
const fromOutside = flag.optional();
const turns = z.number().int().min(0);

export const eventBody = z.discriminatedUnion('type', [
  typed('message', { message, request: object.optional() }),
  typed('run-start', { attempt: z.number().int().min(1) }),
  typed('turn-start', { step: text }),
  typed('text-delta', {
    ...{ artifactId: text, text, replace: flag, isMessage: z.literal(true).optional() },
    ...{ name: text.optional(), lastChunk: flag.optional() },
  }),
  typed('artifact', {
    ...{ artifact, append: flag, lastChunk: flag.optional(), metadata: object.optional() },
    reply: z
      .looseObject({ id: text, role: z.enum(['user', 'agent']), contextId: text, taskId: text })
      .optional(),
  }),
  typed('status', {
    state: z.enum(['submitted', 'working', 'auth-required']),
    ...{ message: message.optional(), questions, metadata: object.optional() },
  }),
  typed('turn-end', {
    ...{ step: text, content: z.array(answerBlock), usage, fromOutside, refusal: text.optional() },
    asked: asked.optional(),
    stopReason: z.enum(['end', 'function-calls', 'max-tokens', 'context-window', 'refusal']),
  }),
  typed('results-cleared', {
    ...{ step: text, results: turns, calls: turns, errors: turns, earlier: turns },
    ...{ bytes: amount.optional(), window: amount.optional() },
  }),
  typed('tool-call', {
    ...{ step: text, callId: text, tool: text, arguments: object, key: text },
    effect: z.enum(['pure', 'keyed', 'queryable', 'unsafe']),
  }),
  typed('tool-result', {
    ...{ step: text, result: functionResult, fromOutside },
    asks: z.looseObject({ questions: z.array(text), state: json }).optional(),
  }),
  typed('delegation-start', {
    ...{ step: text, callId: text, agent: text, request: text, final: flag, key: text },
  }),
  typed('delegation-task', { step: text, taskId: text }),
  typed('delegation-end', {
    ...{ step: text, agent: text, state, result: functionResult, usage, questions, fromOutside },
    ...{ reason: text.optional(), author: text.optional(), peerContextId: text.optional() },
  }),
  typed('activity', { activity }),
  typed('question', { step: text, question }),
  typed('question-expiry', {}),
  typed('cancel-request', {}),
  typed('fork', {
    ...{ taskId: text, seq: z.number().int().min(1) },
    ...{ model: text.optional(), instruction: text.optional(), tools: text.optional() },
  }),
  typed('run-end', {
    ...{ state: ended, usage, questions, fromOutside, reason: text.optional() },
    ...{ message: message.optional(), metadata: object.optional(), refused: flag.optional() },
  }),
]);
