import { z } from 'zod';
import type { Json, JsonObject } from './json.js';
import type { Artifact, Message, Part } from './message.js';
import type { Origin } from './origin.js';
import { TASK_STATES } from './task-states.js';

/*
 * The entries of the journal, and all that they hold. The types of task.ts and model.ts are those of these schemas. An
 * entry of a file or of another node is checked by them; members that are not named here are kept as they are.
 */

const text = z.string();
/** Sums of amounts are numbers too. */
const amount = z.number().min(0).max(Number.MAX_SAFE_INTEGER);
const flag = z.boolean();
const number = z.number().int().min(0);
const anyJson = z.json();
const json = anyJson as unknown as z.ZodType<Json>;
const object = z.record(z.string(), anyJson) as unknown as z.ZodType<JsonObject>;
const state = z.enum(TASK_STATES);

/** An object that keeps members which are not named. Its type has the named ones. */
export const form = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.looseObject(shape) as unknown as z.ZodObject<Shape>;
/** The form of an entry, or of an activity, of a type. */
const typed = <Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  form({ type: z.literal(type), ...shape });
/** Gives a list the type of one that nobody changes. */
export const unchanged = <List extends z.ZodArray>(items: List) => items as unknown as z.ZodReadonly<List>;
const list = <Item extends z.ZodType>(item: Item) => unchanged(z.array(item));

export const trace = form({
  /** In the form of version 00. */
  traceparent: text,
  /** Data of the systems on the way, passed on unchanged. */
  tracestate: text.optional(),
});

export const grant = form({
  /** The agents that delegated to this task, root first, each as "name@node". Empty for a person's own task. */
  chain: list(text),
  /** The number of levels of delegation that are allowed below this task. */
  depth: z.number().int(),
  /** The time after which nothing may start, in milliseconds since the epoch. */
  deadline: amount.optional(),
  /** The model tokens that this task and the tasks below it may still use. */
  tokens: z.number().optional(),
  /** The money that this task and the tasks below it may still cost. */
  cost: form({ amount: z.number(), currency: text }).optional(),
  /** The names of the only tools that may run; absent for all tools of the agent. */
  tools: list(text).optional(),
  /** The scopes of the person's token; absent when there are none. Trusted nodes get them with a delegation. */
  scopes: list(text).optional(),
  /** The request may come from text from outside: everything that is kept for it gets this mark. */
  fromOutside: flag.optional(),
  /** The trace of the task. It gives no authority, but travels the same way. */
  trace: trace.optional(),
});

const extras = { mediaType: text.optional(), filename: text.optional(), metadata: object.optional() };

const part: z.ZodType<Part> = z.union([
  form({ kind: z.literal('text'), text, ...extras }),
  form({ kind: z.literal('data'), data: json, ...extras }),
  form({ kind: z.literal('file'), bytes: text, ...extras }),
  form({ kind: z.literal('file'), url: text, ...extras }),
]);

const withParts = {
  id: text,
  parts: list(part),
  metadata: object.optional(),
  extensions: list(text).optional(),
};
const role = z.enum(['user', 'agent']);

const messageShape = { ...withParts, role, referenceTaskIds: list(text).optional() };
const message: z.ZodType<Message> = form(messageShape);
const artifact: z.ZodType<Artifact> = form({
  ...withParts,
  ...{ name: text.optional(), description: text.optional() },
});

const tokens = { input: amount, output: amount, cached: amount, written: amount.optional() };

/** One row of a bill. Without `cost` the model has no price. */
export const usageRow = form({
  ...tokens,
  ...{ node: text, agent: text, model: text, currency: text },
  cost: amount.optional(),
});

export const usage = form({
  ...tokens,
  /** The bill: one row for each node, agent and model. */
  rows: list(usageRow).optional(),
});

export const functionCall = typed('function-call', {
  /** The vendor's id of the call, unique within an output. The result has the same id. */
  id: text,
  name: text,
  /** Undefined when the model wrote no valid JSON object: see `invalid`. */
  arguments: object.optional(),
  /** The text that the model wrote instead of a JSON object, at most 2,000 characters. */
  invalid: text.optional(),
  /** A limit ended the output before the call was whole: it must not be made. */
  isCut: z.literal(true).optional(),
});

export const answerBlock = z.union([
  typed('text', { text }),
  functionCall,
  /** Content such as thinking blocks, sent back unchanged to the same provider only. */
  typed('opaque', { provider: text, block: object }),
]);

export const functionResult = form({
  ...{ id: text, name: text, content: text, isError: flag },
  /** Images for a model that reads images. `content` mentions them for others. */
  images: list(part).optional(),
});

/** `context-window`: the window of the model was full before the output was whole. */
export const stopReason = z.enum(['end', 'function-calls', 'max-tokens', 'context-window', 'refusal']);

export const askedRequest = form({
  /** The id of the model that answered. */
  model: text,
  /** The hash of the whole request. */
  hash: text,
  /** The hashes of the stable blocks of the instruction. Absent: those of the turn before. */
  system: list(text).optional(),
  /** The hashes of the functions by their names. Absent: those of the turn before. */
  functions: z.record(text, text).optional(),
});

export const question = form({
  /** The id that a reply names. For an approval, the hash of task, call, tool and exact arguments. */
  hash: text,
  kind: z.enum(['approval', 'outcome-unknown', 'input']),
  /** One sentence for the person. */
  text,
  /** The agent that asks. */
  author: text,
  ...{ tool: text.optional(), arguments: object.optional() },
  /** The JSON schema of the reply that an agent of another framework wants. */
  answerSchema: object.optional(),
  /** The form in which an agent of another framework takes each decision. */
  replies: z.record(z.enum(['approve', 'deny']), object).optional(),
  /** The time at which a question without a reply counts as denied, in milliseconds since the epoch. Absent: never. */
  expiresAt: amount.optional(),
});
const questions = list(question).optional();

export const activity = z.discriminatedUnion('type', [
  typed('turn-start', {}),
  typed('thinking', { text }),
  typed('text', {
    text,
    ...{ id: text.optional(), replace: flag.optional() },
    /** The text says that the agent waits so long before it asks its model again. */
    waitMs: amount.optional(),
  }),
  typed('tool-call', { tool: text, arguments: object }),
  typed('tool-result', { tool: text, isError: flag, text }),
  typed('delegation-start', { agent: text, request: text }),
  typed('delegation-end', { agent: text, state, reason: text.optional() }),
]);

/** Marks text from a page, a document or another server's agent, and everything that was said after it was read. */
const fromOutside = flag.optional();
/** The entries of a task below whose content the entry repeats. Only the store reads it. */
const from = z.unknown().optional() as unknown as z.ZodOptional<z.ZodType<Origin>>;

export const clearing = form({
  /** Results of turns before this one are cleared. */
  results: number,
  /** Calls of turns before this one are left out with their results. */
  calls: number,
  /** Calls with errors of turns before this one are left out too. */
  errors: number,
  /** The number of messages of earlier tasks that are left out, the oldest first. */
  earlier: number,
  /** The most bytes of each result that is left. */
  bytes: amount.optional(),
  /** The context window in tokens, when the vendor told it. */
  window: amount.optional(),
});

/** The states in which a run ends. */
const ended = z.enum(TASK_STATES).exclude(['submitted', 'working']);

export const eventBody = z.discriminatedUnion('type', [
  /** A message of the caller: the first event of each task, and each follow-up. */
  typed('message', { message, request: object.optional() }),
  typed('run-start', { attempt: z.number().int().min(1) }),
  typed('turn-start', { step: text }),
  /** Text of the artifact `artifactId`, or of a message with that id; `replace` starts it again. */
  typed('text-delta', {
    ...{
      artifactId: text,
      text,
      replace: flag,
      isMessage: z.literal(true).optional(),
      name: text.optional(),
    },
    /** Subscribers may have seen it, or a part of it, before it had a number. */
    isLive: z.literal(true).optional(),
    /** `true`: this text ends the artifact. `false`, or undefined of an emitted text: the journal marks the end. */
    lastChunk: flag.optional(),
    from,
  }),
  typed('artifact', {
    ...{ artifact, append: flag, lastChunk: flag.optional(), metadata: object.optional() },
    /** The artifact holds the parts of this message, which is the whole response in place of a task. */
    reply: form({ ...messageShape, contextId: text, taskId: text })
      .omit({ parts: true })
      .optional(),
    /** Holds the parts of the artifact. */
    from,
  }),
  /**
   * A status of an executor (see `AgentProfile.isExecutor`). Metadata of its events becomes metadata of the task. With
   * `auth-required`, which any agent may write, the run goes on, and waits for a credential that comes by another way. Any
   * agent may say with `working` what it waits for.
   */
  typed('status', {
    state: z.enum(['submitted', 'working', 'auth-required']),
    message: message.optional(),
    /** The questions that came with it. */
    questions,
    metadata: object.optional(),
  }),
  typed('turn-end', {
    ...{ step: text, content: list(answerBlock), stopReason, usage, fromOutside },
    /** Why the vendor's filter refused, in its words. */
    refusal: text.optional(),
    asked: askedRequest.optional(),
    /** The number of messages of the task that the request followed, where it is more than the first. */
    readCount: z.number().int().min(2).optional(),
  }),
  /** The requests of this turn and of later ones hold no more what is cleared here. */
  typed('results-cleared', { step: text, ...clearing.shape }),
  typed('tool-call', {
    ...{ step: text, callId: text, tool: text, arguments: object, key: text },
    effect: z.enum(['pure', 'keyed', 'queryable', 'unsafe']),
  }),
  typed('tool-result', {
    ...{ step: text, result: functionResult, fromOutside },
    /** Another step goes on with the replies. */
    asks: form({ questions: list(text), state: json }).optional(),
  }),
  typed('delegation-start', {
    ...{ step: text, callId: text, agent: text, request: text, final: flag },
    /** The message id of the request, the same on every attempt. */
    key: text,
  }),
  /** The peer's task, to which a resumed run re-attaches. */
  typed('delegation-task', { step: text, taskId: text }),
  typed('delegation-end', {
    ...{ step: text, agent: text, result: functionResult, fromOutside },
    /** After an interrupted state, another step continues the peer's task with the person's reply. */
    state,
    /** Why the peer did not complete its task, for the people who watch. */
    reason: text.optional(),
    /** The agent that wrote the output, when it is another than `agent`: one that `agent` delegated to. */
    author: text.optional(),
    /** The usage of the peer's task since the last entry of this type. */
    usage,
    /** The peer's questions, with an interrupted state. */
    questions,
    /** The peer's own id of the conversation, which later requests to it continue. */
    peerContextId: text.optional(),
  }),
  /** The work of an agent below, which is the event's author. */
  typed('activity', { activity, from }),
  typed('question', { step: text, question }),
  /** Ends the time of questions whose `expiresAt` has passed: later replies do not count. */
  typed('question-expiry', {}),
  typed('cancel-request', {}),
  /** Begins what a fork has of its own. Results that follow replace those of steps that were not over at its place. */
  typed('fork', {
    ...{ taskId: text, seq: z.number().int().min(1) },
    ...{ model: text.optional(), instruction: text.optional(), tools: z.literal('recorded').optional() },
  }),
  /** Ends a run. The log of an ended task has exactly one with a terminal state, as its last event. */
  typed('run-end', {
    state: ended,
    /** A stable code for programs ("limit-tokens", "model-unreachable"); absent on success. */
    reason: text.optional(),
    ...{ message: message.optional(), metadata: object.optional(), questions, usage, fromOutside },
    /** Whether a model's vendor refused the request for what it holds, whatever that is. */
    refused: flag.optional(),
  }),
]);
