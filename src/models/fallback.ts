import { defined } from '../core/json.js';
import type { Logger } from '../core/logger.js';
import { attemptsOf, type ModelEvent, type ModelProvider, type SpentUsage } from '../core/model.js';

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
        let last: Last | undefined;
        let restarts = hasText;
        for await (const event of provider.stream({ ...request, hasFallback: queue.length > 1 })) {
          if (event.type === 'text') yield restarts ? { ...event, restarts } : event;
          else last = event;
          restarts &&= event.type !== 'text';
          hasText ||= event.type === 'text';
        }
        if (!last) return;
        const failure = failureIn(last, asksAfterRefusal);
        queue = failure ? queue.slice(1).filter((next) => mayFollow(failure, provider, next)) : [];
        const [next] = queue;
        if (!failure || !next) {
          yield withFailed(last, failed, provider);
          return;
        }
        failed.push(...attemptsOf(last).map(({ usage }) => ({ usage, by: provider.id })));
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

type Last = Exclude<ModelEvent, { type: 'text' }>;
type Reason = Pick<Extract<Last, { type: 'error' }>, 'code' | 'about' | 'message'>;

/** Why another model is to be asked: a failure, or a refusal of a filter, which the vendors say that others may answer. */
function failureIn(last: Last, asksAfterRefusal: boolean): Reason | undefined {
  if (last.type === 'error') return last.about !== 'content' || asksAfterRefusal ? last : undefined;
  const { refusal } = last.answer;
  if (refusal === undefined || !asksAfterRefusal) return undefined;
  return { code: 'rejected', about: 'content', message: `a filter of its vendor refused: ${refusal}` };
}

/** Adds the attempts of earlier providers to the last event, and names the provider of this one and its attempts. */
function withFailed(last: Last, earlier: readonly SpentUsage[], { id: by }: ModelProvider): Last {
  const { failed: own = [] } = last.type === 'end' ? last.answer : last;
  const all = [...earlier, ...own.map(({ usage }) => ({ usage, by }))];
  const failed = all.length > 0 && { failed: all };
  if (last.type === 'end') return { ...last, answer: { ...last.answer, by, ...failed } };
  return { ...last, ...failed };
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
