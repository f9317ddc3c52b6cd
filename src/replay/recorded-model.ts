import type { ModelErrorCode, ModelEvent, ModelProvider, ModelRequest } from '../core/model.js';
import { textOf } from '../core/message.js';
import type { BodyOf } from '../core/task.js';
import { answerIn, stepAfter, type Pass, type Recording } from './passes.js';

/** The marks after a text that a failure or a time limit cut off. The loop adds them again. */
const CUT_MARK = /\n\n\[The answer is incomplete: [^\]\n]+\]$/;
/** The journal writes the last character of a text with what follows it. */
const HELD_BACK = '…';

export type OnRequest = (request: ModelRequest, step: string) => void;

/**
 * Gives the outputs that the model gave in a recorded run, in order. `blocked` is called when the record holds no more, and
 * `onRequest` with each request as it is now, and the turn that it is of.
 */
export function recordedModel({ agent, pass, blocked }: Recording, onRequest?: OnRequest): ModelProvider {
  let asked = 0;
  return {
    id: 'recorded',
    async *stream(request): AsyncGenerator<ModelEvent> {
      asked += 1;
      const step = stepAfter(pass, asked);
      onRequest?.(request, step);
      const { end, text } = turnOf(pass, agent, step);
      const failure = end ? undefined : failureOf(pass);
      const shown = end || failure || text === '' || CUT_MARK.test(text) ? text : text + HELD_BACK;
      const said = end ? shown : shown.replace(CUT_MARK, '');
      if (said !== '') yield { type: 'text', text: said };
      if (failure) yield failure;
      else if (end) {
        const { content, stopReason, usage, refusal } = end;
        yield { type: 'end', answer: { content, stopReason, usage, ...(refusal && { refusal }) } };
      } else {
        await blocked().catch(() => undefined);
        yield { type: 'error', code: 'canceled', message: 'The record ends here.', retryable: false };
      }
    },
  };
}

/** The recorded text and end of a turn. A text after the end of the turn before it, and before its own end, belongs to it. */
function turnOf({ events }: Pass, agent: string, step: string) {
  const last = events.findIndex(({ body }) => body.type === 'turn-end' && body.step === step);
  const said = last < 0 ? events : events.slice(0, last);
  const first = said.findLastIndex(({ body }) => body.type === 'turn-end') + 1;
  const text = answerIn(said.slice(first), (author = agent) => author === agent) ?? '';
  return { end: events[last]?.body as BodyOf<'turn-end'> | undefined, text };
}

const FAILURE = /^model-(.+)$/;

/** The failure that ended a run without an output; undefined when something else ended it. */
function failureOf({ end }: Pass): ModelEvent | undefined {
  const code = FAILURE.exec(end?.reason ?? '')?.[1];
  if (!end || code === undefined) return undefined;
  const message = textOf(end.message?.parts ?? []);
  if (end.state === 'rejected')
    return { type: 'error', code: 'rejected', about: 'content', message, retryable: false };
  const about = end.refused ? {} : ({ about: 'key' } as const);
  return { type: 'error', code: code as ModelErrorCode, message, retryable: false, ...about };
}
