import type { Agent } from '../core/agent.js';
import { LangoError } from '../core/errors.js';
import type { ModelRequest, Usage } from '../core/model.js';
import type { SecretGuard } from '../core/secrets.js';
import type { SentPart, SentRequest } from '../core/sent-request.js';
import type { Scope } from '../core/task.js';
import { estimateTokens } from '../core/text.js';
import { canRehearse, changesOf, isOfLoop, rehearse, requestsIn } from './replay.js';
import { wholeTask, type ReadRecord } from './collect.js';
import type { OnRequest } from './stand-ins.js';
import type { RecordedTask } from './task-file.js';

interface SentParts {
  readonly readRecord: ReadRecord;
  readonly agents: ReadonlyMap<string, Agent>;
  readonly secrets: Pick<SecretGuard, 'scrubber'>;
}

type Asked = Pick<ModelRequest, 'system' | 'functions' | 'messages'>;
type RawPart = Pick<SentPart, 'kind' | 'name' | 'text'>;

/**
 * Returns a function that builds the request of a turn as `lango replay` does: the loop goes through the record with the
 * agent of this server, asks nobody and does nothing. Default of `step`: the last turn. Values of secrets that an agent has
 * learned of since are removed. It rejects with `not-found` for a task or a turn that is not there, with `too-large` for a
 * task of very many events, and with `not-supported` for a task of another program's agent.
 */
export function createSentRequests({ readRecord, agents, secrets }: SentParts) {
  return async (scope: Scope, taskId: string, step: string | undefined): Promise<SentRequest> => {
    const recorded = await wholeTask((after) => readRecord(scope, taskId, after));
    const agent = agents.get(recorded.agent);
    if (!agent || !canRehearse(agent) || !isOfLoop(recorded))
      throw new LangoError('not-supported', `No model of this server was asked in task ${taskId}.`, {
        hint: 'A task of a remote agent is shown by the console of its own server.',
      });
    const asked = new Map<string, Asked>();
    const onRequest: OnRequest = ({ system, functions, messages }, turn) => {
      asked.set(turn, { system, functions, messages: [...messages] });
    };
    const now = await rehearse(recorded, { agent, scope, onRequest });
    const steps = [...asked.keys()];
    const wanted = step ?? steps.at(-1) ?? '';
    const request = asked.get(wanted);
    if (!request) throw new LangoError('not-found', `Task ${taskId} has no turn "${wanted}".`);
    const [before, hashes] = [asked.get(steps[steps.indexOf(wanted) - 1] ?? ''), requestsIn(recorded.events)];
    const [was, is] = [hashes.get(wanted), now.get(wanted)];
    const scrubber = secrets.scrubber(scope);
    const shown = (given: Asked | undefined) =>
      partsOf(given).map((part) => ({ ...part, text: scrubber.text(part.text) }));
    return {
      ...{ step: wanted, steps, model: was?.model ?? '' },
      match: was === undefined ? 'unknown' : was.hash === is?.hash ? 'same' : 'different',
      changed: was && is ? [...new Set(changesOf(was, is).map(wordsOf))] : [],
      ...compared(shown(request), shown(before), usageOf(recorded, wanted)),
    };
  };
}

const wordsOf = ({ part, name }: ReturnType<typeof changesOf>[number]) =>
  part === 'function' ? `the function ${name}` : `the ${part}`;

function partsOf(asked: Asked | undefined): readonly RawPart[] {
  if (!asked) return [];
  const { system, functions, messages } = asked;
  return [
    ...functions.map((spec) => part('function', spec.name, written(spec))),
    ...system.map(({ text, stable }) =>
      part('instruction', stable ? 'the same in every run' : 'only in this run', text),
    ),
    ...messages.flatMap((message): RawPart[] => {
      if (message.role === 'user') return [part('message', 'user', written(message.parts))];
      if (message.role === 'assistant') return [part('message', message.author, written(message.content))];
      return message.results.map((result) => part('message', `result of ${result.name}`, result.content));
    }),
  ];
}

const part = (kind: RawPart['kind'], name: string, text: string): RawPart => ({ kind, name, text });

/** Texts as they are, and everything else as JSON, one below the other. */
function written(value: object): string {
  if (!Array.isArray(value)) return JSON.stringify(value, undefined, 1);
  return value
    .map((one: object) =>
      'text' in one && typeof one.text === 'string' ? one.text : JSON.stringify(one, undefined, 1),
    )
    .join('\n');
}

function usageOf({ events }: RecordedTask, step: string): Pick<Usage, 'input' | 'cached'> {
  const end = events.map(({ body }) => body).find((body) => body.type === 'turn-end' && body.step === step);
  return end?.type === 'turn-end' ? end.usage : { input: 0, cached: 0 };
}

/** Marks what is new and what was cached, and scales the estimates to what the vendor counted. */
function compared(
  parts: readonly RawPart[],
  before: readonly RawPart[],
  { input, cached }: Pick<Usage, 'input' | 'cached'>,
): Pick<SentRequest, 'input' | 'cached' | 'parts' | 'gone'> {
  const estimates = parts.map(({ text }) => estimateTokens(text));
  const all = estimates.reduce((sum, tokens) => sum + tokens, 0);
  const scale = input > 0 && all > 0 ? input / all : 1;
  const keyOf = ({ kind, name, text }: RawPart) => JSON.stringify([kind, name, text]);
  const [known, kept] = [new Set(before.map(keyOf)), new Set(parts.map(keyOf))];
  let read = 0;
  const marked = parts.map((one, index): SentPart => {
    const tokens = Math.round(estimates[index]! * scale);
    read += tokens;
    return { ...one, tokens, isCached: cached > 0 && read <= cached, isNew: !known.has(keyOf(one)) };
  });
  const gone = before
    .filter((one) => !kept.has(keyOf(one)))
    .map((one) => ({ ...one, tokens: estimateTokens(one.text), isCached: false, isNew: false }));
  return { input, cached, parts: marked, gone };
}
