import type { Logger } from '../core/logger.js';
import type { ModelEvent, ModelProvider, ModelRequest, SpentUsage } from '../core/model.js';

type Failure = Extract<ModelEvent, { type: 'error' }>;

/** The rest of a model after a failure. A resting model is asked only when no other one responds. */
const REST_MS = 60_000;

/** Asks the providers in order until one responds. The text of a later one replaces that of the failed one. */
export function withFallbacks(providers: readonly ModelProvider[], logger: Logger): ModelProvider {
  const [first, ...others] = providers;
  if (!first || others.length === 0) return first!;
  const restUntil = new Map<ModelProvider, number>();
  const isResting = (provider: ModelProvider): boolean => (restUntil.get(provider) ?? 0) > Date.now();
  return {
    id: first.id,
    fallbacks: others.map(({ id }) => id),
    readsImages: providers.every(({ readsImages = true }) => readsImages),
    async *stream(request) {
      let queue = [...providers.filter((each) => !isResting(each)), ...providers.filter(isResting)];
      let hasText = false;
      const failed: SpentUsage[] = [];
      for (;;) {
        const provider = queue[0]!;
        let failure: Failure | undefined;
        for await (const event of outputOf(provider, request, hasText)) {
          hasText ||= event.type === 'text';
          if (event.type === 'error') failure = event;
          else yield event.type === 'end' ? withFailed(event, failed) : event;
        }
        if (!failure) return;
        const reason = failure;
        failed.push(...(reason.failed ?? []).map(({ usage }) => ({ usage, by: provider.id })));
        queue = queue.slice(1).filter((next) => mayFollow(reason, provider, next));
        const [next] = queue;
        if (!next) {
          yield { ...failure, ...(failed.length > 0 && { failed }) };
          return;
        }
        restUntil.set(provider, Date.now() + REST_MS);
        logger.warn('a model failed; the next one is asked', {
          ...{ model: provider.id, next: next.id, code: failure.code, reason: failure.message },
        });
      }
    },
  };
}

type End = Extract<ModelEvent, { type: 'end' }>;

/** Adds the failed attempts of earlier providers to the output, and names its provider in its own failed attempts. */
function withFailed({ answer, ...end }: End, earlier: readonly SpentUsage[]): End {
  const { by, failed: own = [] } = answer;
  const failed = [...earlier, ...own.map(({ usage }) => ({ usage, ...(by !== undefined && { by }) }))];
  return { ...end, answer: { ...answer, ...(failed.length > 0 && { failed }) } };
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
function mayFollow({ code, about }: Failure, failed: ModelProvider, next: ModelProvider): boolean {
  if (code === 'canceled') return false;
  if (code !== 'rejected' || about === 'model-name') return true;
  // The models of one vendor mostly share one key and one account.
  return (about === 'key' || about === 'credit') && vendorOf(failed) !== vendorOf(next);
}

const vendorOf = ({ id }: ModelProvider): string => id.split('/', 1)[0]!;
