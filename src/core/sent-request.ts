import { z } from 'zod';

const texts = z.array(z.string()).readonly();

const sentPart = z.object({
  kind: z.enum(['function', 'instruction', 'message']),
  /** The name of a function, or the role of a message. */
  name: z.string(),
  text: z.string(),
  /** By an estimate, scaled to the number that the vendor counted. */
  tokens: z.number(),
  /** Whether the vendor had kept it, by the same estimate. */
  isCached: z.boolean(),
  /** Whether the turn before did not have it. */
  isNew: z.boolean(),
});

/** The request of one turn of a task, built again from its record as the model got it. */
export const sentRequest = z.object({
  step: z.string(),
  /** All turns of the task, in order. */
  steps: texts,
  /** `same`: its hash is the recorded one. `unknown`: the record holds none. */
  match: z.enum(['same', 'different', 'unknown']),
  /** The parts that are others today where it is `different`, as people read them. Empty: the messages or the limits. */
  changed: texts,
  model: z.string(),
  /** The tokens by the count of the vendor; `cached` is the part of `input` that it had kept. */
  ...{ input: z.number(), cached: z.number() },
  /** In the order in which a vendor reads and keeps them: functions, instruction, messages. */
  parts: z.array(sentPart).readonly(),
  /** The parts of the turn before that this request does not have. */
  gone: z.array(sentPart).readonly(),
});

/** A part of a request that is another one now. `text`: the part as it is now. */
const requestChange = z.object({
  part: z.enum(['model', 'instruction', 'function']),
  change: z.enum(['added', 'removed', 'changed']),
  /** The name of the function, the recorded model, or the hash of the block of the instruction. */
  name: z.string(),
  text: z.string().exactOptional(),
});

/** A turn whose model would be asked something else now. */
const changedTurn = z.object({
  ...{ taskId: z.string(), agent: z.string(), step: z.string() },
  changes: z.array(requestChange).readonly(),
});

export const requestReport = z.object({
  /** The number of turns that were compared. */
  turns: z.number(),
  changed: z.array(changedTurn).readonly(),
  /** The number of turns whose requests are not known: they were recorded before requests were. */
  unknown: z.number(),
  /** The agents that this server does not run, or that are a program's own code. */
  absent: texts,
});

export type SentPart = Readonly<z.output<typeof sentPart>>;
export type SentRequest = Readonly<z.output<typeof sentRequest>>;
export type RequestChange = Readonly<z.output<typeof requestChange>>;
export type RequestReport = Readonly<z.output<typeof requestReport>>;
