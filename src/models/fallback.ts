import { defined } from '../core/json.js';
import type { Logger } from '../core/logger.js';
import type { ModelEvent, ModelProvider, ModelRequest, SpentUsage } from '../core/model.js';

type Failure = Extract<ModelEvent, { type: 'error' }>;

/** The rest of a model after a failure. A resting model is asked only when no other one responds. */
const REST_MS = 60_000;

interface FallbackOptions {
  readonly logger: Logger;
  /** Whether the next model is asked when a filter of the vendor refuses. Default: true. */
  readonly asksAfterRefusal?: boolean;
}

/** Asks the providers in order until one responds. The text of a later one replaces that of the failed one. */
export function withFallbacks(
  providers: readonly ModelProvider[],
  { logger, asksAfterRefusal = true }: FallbackOptions,
): ModelProvider {
  const [first, ...others] = providers;
  if (!first || others.length === 0) return first!;
  const restUntil = new Map<ModelProvider, number>();
  const isResting = (provider: ModelProvider): boolean => (restUntil.get(provider) ?? 0) > Date.now();
  return {
    id: first.id,
    fallbacks: others.map(({ id }) => id),
    ...defined({ windowTokens: first.windowTokens }),
    readsImages: providers.every(({ readsImages = true }) => readsImages),
    async *stream(request) {
      let queue = [...providers.filter((each) => !isResting(each)), ...providers.filter(isResting)];
      let hasText = false;
      const failed: SpentUsage[] = [];
      for (;;) {
        const provider = queue[0]!;
        let last: Failure | End | undefined;
        const hasFallback = queue.length > 1;
        for await (const event of outputOf(provider, { ...request, hasFallback }, hasText)) {
          hasText ||= event.type === 'text';
          if (event.type === 'text') yield event;
          else last = event;
        }
        const failure = last && failureIn(last, asksAfterRefusal);
        queue = failure ? queue.slice(1).filter((next) => mayFollow(failure, provider, next)) : [];
        const [next] = queue;
        if (!last) return;
        if (!failure || !next) {
          yield withFailed(last, failed, provider);
          return;
        }
        failed.push(...attemptsOf(last, provider));
        // A refusal is about the request, and not about the model.
        if (failure.about !== 'content' && failure.about !== 'length')
          restUntil.set(provider, Date.now() + REST_MS);
        logger.warn('a model failed; the next one is asked', {
          ...{ model: provider.id, next: next.id, code: failure.code, reason: failure.message },
        });
      }
    },
  };
}

type End = Extract<ModelEvent, { type: 'end' }>;
type Reason = Pick<Failure, 'code' | 'about' | 'message'>;

/** Why another model is to be asked: a failure, or a refusal of a filter, which the vendors say that others may answer. */
function failureIn(last: Failure | End, asksAfterRefusal: boolean): Reason | undefined {
  if (last.type === 'error') return last.about !== 'content' || asksAfterRefusal ? last : undefined;
  const { refusal } = last.answer;
  if (refusal === undefined || !asksAfterRefusal) return undefined;
  return { code: 'rejected', about: 'content', message: `a filter of its vendor refused: ${refusal}` };
}

/** The usage of all attempts of a model that failed or refused. */
function attemptsOf(last: Failure | End, { id: by }: ModelProvider): readonly SpentUsage[] {
  const { failed = [] } = last.type === 'end' ? last.answer : last;
  const refused = last.type === 'end' ? [{ usage: last.answer.usage }] : [];
  return [...failed, ...refused].map(({ usage }) => ({ usage, by }));
}

/** Adds the attempts of earlier providers to the last event, and names its provider in its own failed attempts. */
function withFailed(
  last: Failure | End,
  earlier: readonly SpentUsage[],
  { id: by }: ModelProvider,
): ModelEvent {
  const { failed: own = [] } = last.type === 'end' ? last.answer : last;
  const all = [...earlier, ...own.map(({ usage }) => ({ usage, by }))];
  if (all.length === 0) return last;
  return last.type === 'end'
    ? { ...last, answer: { ...last.answer, failed: all } }
    : { ...last, failed: all };
}

/** Yields the output of one provider. With `replaces`, its first text replaces the text of the provider before. */
async function* outputOf(
  provider: ModelProvider,
  request: ModelRequest,
  replaces: boolean,
): AsyncGenerator<ModelEvent, void> {
  let restarts = replaces;
  for await (const event of provider.stream(request)) {
    if (event.type === 'end') yield { ...event, answer: { ...event.answer, by: provider.id } };
    else if (event.type === 'text' && restarts) yield { ...event, restarts };
    else yield event;
    if (event.type === 'text') restarts = false;
  }
}

/** Whether another model may be asked after this failure. A request that one model rejects is rejected by all. */
function mayFollow({ code, about }: Reason, failed: ModelProvider, next: ModelProvider): boolean {
  if (code === 'canceled') return false;
  if (code !== 'rejected' || about === 'model-name' || about === 'content') return true;
  if (about === 'length') return windowOf(next) > windowOf(failed) || next.windowTokens === undefined;
  // The models of one vendor mostly share one key and one account.
  return (about === 'key' || about === 'credit') && vendorOf(failed) !== vendorOf(next);
}

/** The window of a model that is not known counts as the smallest. */
const windowOf = ({ windowTokens = 0 }: ModelProvider): number => windowTokens;

const vendorOf = ({ id }: ModelProvider): string => id.split('/', 1)[0]!;
