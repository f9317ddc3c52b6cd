import type { LoopAgent } from '../agents/agent.js';
import { shortHash } from '../agents/asked-request.js';
import type { Agent } from '../core/agent.js';
import { defined } from '../core/json.js';
import type { AskedRequest } from '../core/model.js';
import type { RequestChange, RequestReport } from '../core/sent-request.js';
import type { NewEvent, Scope } from '../core/task.js';
import type { OnRequest } from './recorded-model.js';
import { isOfLoop, runsAgain } from './replay.js';
import { parseTaskFile, type RecordedTask } from './task-file.js';

interface CurrentParts {
  /** The agents of this server. */
  readonly agents: ReadonlyMap<string, Agent>;
  /** The owner whose tools and skills the agents get. */
  readonly scope: Scope;
}

/**
 * Builds the request of each recorded turn with the instructions and the functions of now, and compares it with what the
 * model was asked. The conversation, the outputs of models and all results are as recorded: nothing is asked or done.
 * Rejects with `invalid-input` for what is no file of a task with contents.
 */
export async function compareRequests(given: unknown, parts: CurrentParts): Promise<RequestReport> {
  const file = parseTaskFile(given, { needsContent: true });
  const absent = new Set<string>();
  const changed: RequestReport['changed'][number][] = [];
  let [turns, unknown] = [0, 0];
  for (const task of file.tasks.filter(isOfLoop)) {
    const agent = parts.agents.get(task.agent);
    if (!agent || !canRehearse(agent)) {
      absent.add(task.agent);
      continue;
    }
    /** The parts of the requests by their hashes. */
    const texts = new Map<string, string>();
    const now = await rehearse(agent, { recorded: task, scope: parts.scope }, ({ system, functions }) => {
      for (const block of system) texts.set(shortHash(block), block.text);
      for (const spec of functions) texts.set(shortHash(spec), JSON.stringify(spec, undefined, 1));
    });
    const before = requestsIn(task.events);
    for (const [step, recorded] of before) {
      const asked = now.get(step);
      if (!recorded) unknown += 1;
      if (!recorded || !asked) continue;
      turns += 1;
      const changes = changesOf(recorded, asked, texts);
      if (changes.length > 0) changed.push({ taskId: task.id, agent: task.agent, step, changes });
    }
  }
  return { turns, changed, unknown, absent: [...absent] };
}

export function canRehearse(agent: Agent): agent is LoopAgent {
  return 'rehearse' in agent;
}

type Requests = ReadonlyMap<string, Required<AskedRequest> | undefined>;

/** The requests of turns by their steps, each with all its parts; undefined for one that is not known. */
export function requestsIn(events: readonly Pick<NewEvent, 'body'>[]): Requests {
  const requests = new Map<string, Required<AskedRequest> | undefined>();
  let newest: Pick<Required<AskedRequest>, 'system' | 'functions'> = { system: [], functions: {} };
  for (const { body } of events) {
    if (body.type !== 'turn-end') continue;
    const { asked } = body;
    const { system = newest.system, functions = newest.functions } = asked ?? newest;
    newest = { system, functions };
    requests.set(body.step, asked && { ...asked, ...newest });
  }
  return requests;
}

type Texts = ReadonlyMap<string, string>;

/** Lets an agent of this server go through a recorded task, with outputs and results as recorded. */
export async function rehearse(
  agent: LoopAgent,
  { recorded, scope }: { readonly recorded: RecordedTask; readonly scope: Scope },
  onRequest: OnRequest,
): Promise<Requests> {
  const now: NewEvent[] = [];
  for await (const { written } of runsAgain(recorded, { agent, scope, onRequest })) now.push(...written);
  return requestsIn(now);
}

export function changesOf(
  before: Required<AskedRequest>,
  now: Required<AskedRequest>,
  texts: Texts = new Map(),
): readonly RequestChange[] {
  const changes: RequestChange[] = [];
  if (before.model !== now.model)
    changes.push({ part: 'model', change: 'changed', name: before.model, text: now.model });
  for (const name of before.system.filter((hash) => !now.system.includes(hash)))
    changes.push({ part: 'instruction', change: 'removed', name });
  for (const name of now.system.filter((hash) => !before.system.includes(hash)))
    changes.push({ part: 'instruction', change: 'added', name, ...defined({ text: texts.get(name) }) });
  for (const name of new Set([...Object.keys(before.functions), ...Object.keys(now.functions)])) {
    const [was, is] = [before.functions[name], now.functions[name]];
    if (was === is) continue;
    const change = was === undefined ? 'added' : is === undefined ? 'removed' : 'changed';
    changes.push({ part: 'function', change, name, ...defined({ text: is && texts.get(is) }) });
  }
  return changes;
}
