import { intentOf } from '../agents/agent-function.js';
import { isLastResult } from '../agents/recorded-calls.js';
import { TRANSFER_NAME } from '../agents/transfer.js';
import { hashJson } from '../core/canonical-json.js';
import { LangoError } from '../core/errors.js';
import { newId } from '../core/ids.js';
import { textPart } from '../core/message.js';
import { functionCalls, NO_USAGE, type FunctionResult } from '../core/model.js';
import type { Agent } from '../core/agent.js';
import { defined } from '../core/json.js';
import { readPages, taskOfOwner, type Journal } from '../core/journal.js';
import { isTerminal, narrowGrant } from '../core/task.js';
import type { BodyOf, EventBody, Grant, Scope, TaskEvent, TaskRecord } from '../core/task.js';
import type { ForkRequest } from '../core/fork.js';
import type { NewFork } from '../stores/tasks.js';
import { IMPORT_AUTHOR } from './import.js';
import { rootOf } from './passes.js';
import { canRehearse } from './replay.js';

interface ForkParts {
  readonly journal: Pick<Journal, 'get' | 'read'> & { fork(entry: NewFork): Promise<TaskRecord> };
  readonly agents: ReadonlyMap<string, Agent>;
  /** Whether this is a server for one evaluation: it forks imported tasks too. */
  readonly isTrial?: boolean | undefined;
}

type Intent = BodyOf<'tool-call'> | BodyOf<'delegation-start'>;
/** A request whose place is known. */
type Placed = ForkRequest & { readonly at: number };
type Calls = Map<string, { readonly intent: Intent; readonly isBegun: boolean }>;

/**
 * Returns a function that begins a fork of a task of an owner. What was begun before its place is over in the fork: with the
 * result that the record has, also a later one, or an error that says that there is none. Nothing is called again for it.
 * Rejects with `not-found`, and with `invalid-input` for a place or a step that there is not, and for imported tasks.
 */
export function createTaskFork(parts: ForkParts) {
  const { journal } = parts;
  return async (scope: Scope, request: ForkRequest, grantFor: (agent: string) => Grant) => {
    const parent = await taskOfOwner(journal, scope, request.taskId);
    assertForkable(parent, parts);
    const all: TaskEvent[] = [];
    for await (const read of readPages(journal, parent.id, { after: 0, head: parent.head }))
      all.push(...read);
    const at = placeOf(all, request.at);
    const { tools, fromOutside } = parent.grant;
    const own = narrowGrant(grantFor(parent.agent), defined({ tools, fromOutside }));
    const id = newId();
    const events = eventsOfFork(all, id, { ...request, at }).map((body) => ({
      author: body.type === 'message' ? 'user' : body.type === 'fork' ? 'fork' : parent.agent,
      body,
    }));
    return journal.fork({ id, scope, contextId: newId(), grant: own, of: parent.id, at, events });
  };
}

function assertForkable({ id, agent, grant }: TaskRecord, { agents, isTrial }: ForkParts): void {
  if (!isTrial && grant.chain.some((link) => link.startsWith(`${IMPORT_AUTHOR}@`)))
    throw new LangoError('invalid-input', `The task ${id} was imported, and imported tasks are never run.`);
  const runner = agents.get(agent);
  if (runner && canRehearse(runner)) return;
  const text = `The task ${id} cannot be forked: its agent ${agent} is no agent of this server that asks a model.`;
  throw new LangoError('invalid-input', text);
}

/** An ended task takes no more events, so a fork parts from it before its end. */
function placeOf(all: readonly TaskEvent[], asked: number | undefined): number {
  const last = all.at(-1)!;
  const most = last.body.type === 'run-end' && isTerminal(last.body.state) ? last.seq - 1 : last.seq;
  const at = asked ?? most;
  if (at >= 1 && at <= last.seq) return Math.min(at, most);
  throw new LangoError('invalid-input', `The task has the events 1 to ${last.seq}.`);
}

function eventsOfFork(all: readonly TaskEvent[], id: string, request: Placed): readonly EventBody[] {
  const { taskId, at, model, instruction, message, results } = request;
  const tools = request.tools === 'recorded' ? request.tools : undefined;
  const said = message && ({ id: newId(), role: 'user', parts: [textPart(message)] } as const);
  const shared = all.slice(0, at).map(({ body }) => body);
  const calls = callsIn(shared, id);
  const replaced = new Set(results.map(({ step }) => step));
  const open = [...calls.values()].filter(({ intent, isBegun }) => isBegun && !replaced.has(intent.step));
  const replacing = results.flatMap(({ step, text }) => {
    const { intent, isBegun } = calls.get(step) ?? noCall(step, calls);
    return [...(isBegun ? [] : [intent]), endOf(intent, { content: text, isError: false })];
  });
  return [
    { type: 'fork', taskId, seq: at, ...defined({ model, instruction, tools }) },
    ...open.flatMap(({ intent }) => closingOf(intent, shared, all)),
    ...replacing,
    ...(said ? [{ type: 'message', message: said } as const] : []),
  ];
}

/** The calls of all turns, by their steps. Further attempts and replies have steps below. */
function callsIn(bodies: readonly EventBody[], id: string): Calls {
  const calls: Calls = new Map();
  for (const body of bodies) {
    if (body.type === 'turn-end')
      for (const [index, call] of functionCalls(body.content).entries()) {
        const step = `${body.step}.c${index}`;
        const { arguments: given = {} } = call;
        const key = hashJson([id, step, call.name, given]);
        calls.set(step, {
          intent: intentOf({ ...call, arguments: given, key }, step, 'pure'),
          isBegun: false,
        });
      }
    const isIntent = body.type === 'tool-call' || body.type === 'delegation-start';
    if (isIntent && rootOf(body.step) === body.step) calls.set(body.step, { intent: body, isBegun: true });
  }
  return calls;
}

function noCall(step: string, calls: Calls): never {
  const steps = [...calls.values()].map(({ intent }) => `${intent.step} (${nameOf(intent)})`);
  const message = `There is no call "${step}" before that event. There are: ${steps.join(', ') || 'none'}.`;
  throw new LangoError('invalid-input', message);
}

const nameOf = (intent: Intent): string => (intent.type === 'tool-call' ? intent.tool : TRANSFER_NAME);

const NOT_RECORDED =
  'The call has no result: it was under way where this task was forked, and its result is not recorded.';

/** The result of a call that is not over at its own step; none when it is. */
function closingOf(
  intent: Intent,
  shared: readonly EventBody[],
  all: readonly TaskEvent[],
): readonly EventBody[] {
  const { step } = intent;
  const results = (bodies: readonly EventBody[]) =>
    bodies.filter(isLastResult).filter((result) => rootOf(result.step) === step);
  const known = results(shared).at(-1) ?? results(all.map(({ body }) => body)).at(-1);
  if (known?.step === step && shared.includes(known)) return [];
  if (!known) return [endOf(intent, { content: NOT_RECORDED, isError: true })];
  const { state, reason, author, peerContextId, fromOutside } = known as Partial<BodyOf<'delegation-end'>>;
  return [endOf(intent, known.result, defined({ state, reason, author, peerContextId, fromOutside }))];
}

/** The entry that ends a call with a result. `known`: the further members of the entry that ended it elsewhere. */
function endOf(
  intent: Intent,
  given: Omit<FunctionResult, 'id' | 'name'>,
  known: Partial<Omit<BodyOf<'delegation-end'>, 'type'>> = {},
): EventBody {
  const { step, callId: id } = intent;
  const result = { name: nameOf(intent), ...given, id };
  if (intent.type === 'tool-call') return { type: 'tool-result', step, result, ...known };
  const state = given.isError ? 'failed' : 'completed';
  return { type: 'delegation-end', step, agent: intent.agent, state, result, usage: NO_USAGE, ...known };
}
