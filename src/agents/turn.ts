import { LangoError } from '../core/errors.js';
import type { ModelErrorCode, ModelProvider, ModelRequest } from '../core/model.js';
import type { Run, RunEnd } from '../core/run.js';
import { scrubEvent } from '../core/scrub-event.js';
import type { EventBody } from '../core/task.js';

/** The artifact that holds an agent's answer. Each turn that speaks starts it again. */
const ANSWER_ARTIFACT_ID = 'answer';

export type TurnEnd = Extract<EventBody, { type: 'turn-end' }>;

export interface TurnOptions {
  readonly run: Run;
  readonly step: string;
  readonly model: ModelProvider;
  readonly request: Omit<ModelRequest, 'signal'>;
  /** Whether the request holds text from outside: so may the answer. */
  readonly fromOutside: boolean;
}

/** One model answer: the recorded one when there is one, else asked for and streamed as it comes. */
export async function takeTurn(options: TurnOptions): Promise<TurnEnd | RunEnd> {
  const { run, step, model } = options;
  const recorded = run.recorded(step);
  if (recorded?.result?.type === 'turn-end') return recorded.result;
  if (!recorded) run.emit({ type: 'turn-start', step });

  let spoken = false;
  for await (const event of model.stream({ ...options.request, signal: run.signal })) {
    run.signal.throwIfAborted();
    switch (event.type) {
      case 'text':
        if (event.text === '') break;
        sayAnswer(run, { text: event.text, replace: !spoken });
        spoken = true;
        break;
      case 'end': {
        // What is called now and what a resumed run finds recorded are the same.
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
  throw new LangoError('model', 'the model provider ended its answer without an end');
}

export interface Speech {
  readonly text: string;
  /** Starts the answer again. */
  readonly replace: boolean;
  /** Absent: the agent of the run. */
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
