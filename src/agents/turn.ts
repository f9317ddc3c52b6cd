import { LangoError } from '../core/errors.js';
import type {
  FunctionResult,
  ModelErrorCode,
  ModelMessage,
  ModelProvider,
  ModelRequest,
} from '../core/model.js';
import type { Run, RunEnd } from '../core/run.js';
import { scrubEvent } from '../scrub/data.js';
import type { EventBody } from '../core/task.js';

/** The artifact that holds an agent's answer. Each turn with text starts it again. */
const ANSWER_ARTIFACT_ID = 'answer';

export type TurnEnd = Extract<EventBody, { type: 'turn-end' }>;

export interface TurnOptions {
  readonly run: Run;
  readonly step: string;
  readonly model: ModelProvider;
  readonly request: Omit<ModelRequest, 'signal'>;
  /** Whether the request holds text from outside; the answer is marked the same. */
  readonly fromOutside: boolean;
}

/** Returns the recorded answer of this turn, or asks the model and streams its text into the journal. */
export async function takeTurn(options: TurnOptions): Promise<TurnEnd | RunEnd> {
  const { run, step, model } = options;
  const recorded = run.recorded(step);
  if (recorded?.result?.type === 'turn-end') return recorded.result;
  if (!recorded) run.emit({ type: 'turn-start', step });

  let hasText = false;
  for await (const event of model.stream({ ...options.request, signal: run.signal })) {
    run.signal.throwIfAborted();
    switch (event.type) {
      case 'text':
        if (event.text === '') break;
        sayAnswer(run, { text: event.text, replace: !hasText });
        hasText = true;
        break;
      case 'end': {
        // Scrubbed here, so that this run and a resumed run perform the same calls.
        const mark = options.fromOutside ? { fromOutside: true } : {};
        const turnEnd = scrubEvent<TurnEnd>(
          { type: 'turn-end', step, ...event.answer, ...mark },
          run.scrubber,
        );
        run.emit(turnEnd);
        return turnEnd;
      }
      case 'error':
        run.logger.warn('the model gave no answer', {
          model: model.id,
          code: event.code,
          error: event.message,
        });
        return failure(event.code);
    }
  }
  run.signal.throwIfAborted();
  throw new LangoError('model', 'the model provider ended its stream without an end event');
}

export interface Speech {
  readonly text: string;
  /** Whether the text starts the answer again. */
  readonly replace: boolean;
  /** Default: the agent of the run. */
  readonly author?: string;
}

export function sayAnswer(run: Run, { text, replace, author }: Speech): void {
  run.emit({ type: 'text-delta', artifactId: ANSWER_ARTIFACT_ID, text, replace }, author);
}

const FAILURES: Readonly<Record<ModelErrorCode, string>> = {
  canceled: 'The model call was canceled.',
  overloaded: 'The model is overloaded. Try again later.',
  'rate-limited': 'The model provider takes no more requests for now. Try again later.',
  unreachable: 'The model could not be reached. `lango doctor --model` says why.',
  rejected: 'The model provider refused the request. The server log says why.',
  'bad-answer': 'The model gave an answer that could not be read.',
};

function failure(code: ModelErrorCode): RunEnd {
  return { state: 'failed', reason: `model-${code}`, text: FAILURES[code] };
}

/** How many images of results a request holds: an image costs about as much as a page of text, at every turn. */
const IMAGES_SHOWN = 2;

const NO_LONGER_SHOWN =
  '[The image that came with this is not shown any more. Call the function again to see how it is now.]';

/** Returns the conversation with the images of its newest results only; a sentence replaces each older image. */
export function withNewestImages(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  let left = IMAGES_SHOWN;
  const newestFirst = messages.toReversed().map((message) => {
    if (message.role !== 'results') return message;
    const results = message.results.toReversed().map((result) => {
      const count = result.images?.length ?? 0;
      const isShown = count <= left;
      left = Math.max(0, left - count);
      return isShown ? result : withoutImages(result);
    });
    return { ...message, results: results.reverse() };
  });
  return newestFirst.reverse();
}

function withoutImages({ images: _, ...result }: FunctionResult): FunctionResult {
  return { ...result, content: `${result.content}\n${NO_LONGER_SHOWN}` };
}
