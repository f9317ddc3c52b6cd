import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import { type Json } from '../../core/json.js';
import { hashJson } from '../../core/canonical-json.js';
import { pause } from '../../core/time.js';
import type { ToolContext, ToolOutput } from '../../core/tool.js';
import type { CallToolResult } from './connection.js';
import {
  elicitation,
  questionText,
  readElicitation,
  resultOf,
  type Answers,
  type ElicitResult,
} from './elicitation.js';
import { PAGE, type CallStep } from './live-call.js';

/** How often one call may ask. Further questions are canceled. */
const MOST_ROUNDS = 8;
const MOST_REQUESTS = 4;
const LONGEST_STATE = 64 * 1024;
/** The pause before a call that is to be made again without an answer. */
const PAUSE_MS = 250;

const result = z.union([
  z.object({
    action: z.literal('accept'),
    content: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]))
      .optional(),
  }),
  z.object({ action: z.enum(['decline', 'cancel']) }),
]);
/** The state that the journal keeps while a person is asked. */
const state = z.object({
  round: z.number(),
  /** The call at the server in this process; undefined when the server keeps none. */
  live: z.string().optional(),
  requestState: z.string().optional(),
  /** The open questions, by the names that the server gave. */
  open: z.record(z.string(), elicitation),
  /** The answers that there are already. */
  given: z.record(z.string(), result),
});

export type State = z.output<typeof state>;
/** How a call ended for now: with a result, or with questions to a person. */
export type CallEnd =
  { readonly result: CallToolResult } | { readonly asks: NonNullable<ToolOutput['asks']> };

/** The work on one call, as one server does it. */
export interface CallWork {
  readonly server: string;
  readonly tool: string;
  /** The id under which the next step finds the call, when it stays open at the server. */
  readonly live?: string;
  /** Answers that a person gave before, by the hash of what was asked. */
  readonly known?: ReadonlyMap<string, ElicitResult>;
  /** Whether a person may be asked now. Default: yes. */
  mayAsk?(): boolean;
  /** Makes the next step, with answers to what was asked last. */
  next(answers: Answers, requestState: string | undefined): Promise<CallStep>;
}

/** Makes a call, or goes on with one, until it has a result or a person must be asked. */
export async function converse(work: CallWork, before: State | undefined): Promise<CallEnd> {
  let step = await stepAfter(work, before?.given ?? {}, before?.requestState);
  for (let round = before?.round ?? 0; step.type === 'asks'; round += 1) {
    const { requestState, requests } = step;
    const names = Object.keys(requests);
    if (
      round > MOST_ROUNDS + 1 ||
      (requestState?.length ?? 0) > LONGEST_STATE ||
      names.length > MOST_REQUESTS
    )
      throw new LangoError('tool', `The MCP server ${work.server} asks more than a person is asked.`);
    const open: State['open'] = {};
    const given: State['given'] = {};
    for (const name of names) {
      const asked = round < MOST_ROUNDS ? readElicitation(requests[name]) : undefined;
      const known = asked && work.known?.get(hashJson(asked));
      if (asked && !known && (work.mayAsk?.() ?? true)) open[name] = asked;
      else given[name] = known ?? { action: 'cancel' };
    }
    if (Object.keys(open).length > 0) {
      const { live } = work;
      return { asks: asksOf(work, { round: round + 1, live, requestState, open, given }) };
    }
    if (names.length === 0) await pause(PAUSE_MS);
    step = await stepAfter(work, given, requestState);
  }
  return { result: step.result };
}

/** Goes on with the answers. Pages that a server wants opened before a call are no part of the call. */
function stepAfter(work: CallWork, given: Answers, requestState: string | undefined): Promise<CallStep> {
  const pages = Object.entries(given).filter(([name]) => name.startsWith(PAGE));
  if (pages.length === 0) return work.next(given, requestState);
  if (pages.every(([, { action }]) => action === 'accept')) return work.next({}, undefined);
  throw new LangoError('tool', `The MCP server ${work.server} wants a page opened first, and nobody did.`);
}

/** Adds a person's answers to what is known. Returns what must be asked again, because an answer does not fit. */
export function withAnswers(
  work: Pick<CallWork, 'server' | 'tool'>,
  answered: NonNullable<ToolContext['answered']>,
): { readonly state: State } | Extract<CallEnd, { readonly asks: unknown }> {
  const before = state.parse(answered.state);
  const read = Object.entries(before.open).map(([name, asked], at) => ({
    ...{ name, asked },
    result: resultOf(asked, answered.answers[at]),
  }));
  const isLast = before.round >= MOST_ROUNDS;
  const open: State['open'] = {};
  const problems: Record<string, string> = {};
  const given: State['given'] = { ...before.given };
  for (const { name, asked, result } of read) {
    if (!('problem' in result)) given[name] = result;
    else if (isLast) given[name] = { action: 'cancel' };
    else {
      open[name] = asked;
      problems[name] = result.problem;
    }
  }
  const next = { ...before, open, given };
  if (Object.keys(open).length === 0) return { state: { ...next, open: before.open } };
  return { asks: asksOf(work, { ...next, round: before.round + 1 }, problems) };
}

/** The answers by what was asked: a server that is called again gets them for the same questions. */
export function answersByRequest({ open, given }: State): ReadonlyMap<string, ElicitResult> {
  return new Map(
    Object.entries(open).flatMap(([name, asked]) => {
      const answer = given[name];
      return answer ? [[hashJson(asked), answer]] : [];
    }),
  );
}

function asksOf(
  { server, tool }: Pick<CallWork, 'server' | 'tool'>,
  asked: State,
  problems: Readonly<Record<string, string>> = {},
): NonNullable<ToolOutput['asks']> {
  const questions = Object.entries(asked.open).map(([name, one]) => {
    const problem = problems[name];
    return questionText(one, { server, tool, ...(problem === undefined ? {} : { problem }) });
  });
  return { questions, state: JSON.parse(JSON.stringify(asked)) as Json };
}
