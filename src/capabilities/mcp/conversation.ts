import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import { type Json } from '../../core/json.js';
import { hashJson } from '../../core/canonical-json.js';
import { pause } from '../../core/time.js';
import type { ToolContext, ToolOutput } from '../../core/tool.js';
import type { CallToolResult } from './connection.js';
import { elicitation, elicitResult, questionText, readElicitation, resultOf } from './elicitation.js';
import type { ElicitResult, Replies } from './elicitation.js';
import { PAGE, type CallStep } from './live-call.js';

/** The most questions, one after another, of one call. Further questions are canceled. */
const MOST_ROUNDS = 8;
const MOST_REQUESTS = 4;
const LONGEST_STATE = 64 * 1024;
/** The pause before a call that is to be made again without a reply. */
const PAUSE_MS = 250;

/** The state that the journal keeps while a person is asked. */
const state = z.object({
  round: z.number(),
  /** The call at the server in this process; undefined when the server keeps none. */
  live: z.string().optional(),
  requestState: z.string().optional(),
  /** The open questions, by the names that the server gave. */
  open: z.record(z.string(), elicitation),
  /** The replies that there are already. */
  given: z.record(z.string(), elicitResult),
});

export type State = z.output<typeof state>;
/** The end of a call for now: a result, or questions to a person. */
export type CallEnd =
  { readonly result: CallToolResult } | { readonly asks: NonNullable<ToolOutput['asks']> };

/** The work on one call, as one server does it. */
export interface CallWork {
  readonly server: string;
  readonly tool: string;
  /** The id under which the next step finds the call, when it stays open at the server. */
  readonly live?: string;
  /** Replies that a person gave before, by the hash of what was asked. */
  readonly known?: ReadonlyMap<string, ElicitResult>;
  /** Whether a person may be asked now. Default: yes. */
  mayAsk?(): boolean;
  /** Makes the next step, with replies to what was asked last. */
  next(replies: Replies, requestState: string | undefined): Promise<CallStep>;
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

/** Goes on with the replies. Pages that a server wants opened before a call are no part of the call. */
function stepAfter(work: CallWork, given: Replies, requestState: string | undefined): Promise<CallStep> {
  const pages = Object.entries(given).filter(([name]) => name.startsWith(PAGE));
  if (pages.length === 0) return work.next(given, requestState);
  if (pages.every(([, { action }]) => action === 'accept')) return work.next({}, undefined);
  throw new LangoError('tool', `The MCP server ${work.server} wants a page opened first, and nobody did.`);
}

/** Adds a person's replies to what is known. Returns what must be asked again, because a reply does not fit. */
export function withReplies(
  work: Pick<CallWork, 'server' | 'tool'>,
  replied: NonNullable<ToolContext['replied']>,
): { readonly state: State } | Extract<CallEnd, { readonly asks: unknown }> {
  const before = state.parse(replied.state);
  const isLast = before.round >= MOST_ROUNDS;
  const open: State['open'] = {};
  const problems: Record<string, string> = {};
  const given: State['given'] = { ...before.given };
  for (const [at, [name, asked]] of Object.entries(before.open).entries()) {
    const result = resultOf(asked, replied.replies[at]);
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

/** The replies by what was asked: a server that is called again gets them for the same questions. */
export function repliesByRequest({ open, given }: State): ReadonlyMap<string, ElicitResult> {
  const known = Object.entries(open).filter(([name]) => given[name]);
  return new Map(known.map(([name, asked]) => [hashJson(asked), given[name]!]));
}

function asksOf(
  { server, tool }: Pick<CallWork, 'server' | 'tool'>,
  asked: State,
  problems: Readonly<Record<string, string>> = {},
): NonNullable<ToolOutput['asks']> {
  const questions = Object.entries(asked.open).map(([name, one]) => {
    const question = questionText(one, { server, tool });
    return problems[name] === undefined ? question : `${problems[name]}\n${question}`;
  });
  return { questions, state: JSON.parse(JSON.stringify(asked)) as Json };
}
