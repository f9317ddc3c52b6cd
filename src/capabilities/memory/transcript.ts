import { textOf } from '../../core/message.js';
import { answerText, functionCalls } from '../../core/model.js';
import { isFromOutside, isRefused, type TaskEvent } from '../../core/task.js';
import { cutText, estimateTokens } from '../../core/text.js';

/** The conversation of one task: messages, outputs, calls and results. */
export interface TaskTranscript {
  readonly taskId: string;
  /** Time of the newest event, in milliseconds since the epoch. */
  readonly at: number;
  /** The first message of the user. */
  readonly request: string;
  /** The last text of an agent. */
  readonly output: string;
  /** One line per event, with its author. */
  readonly text: string;
  readonly fromOutside: boolean;
}

const TEXT_MAX_BYTES = 2_000;
const RESULT_MAX_BYTES = 400;
const ADVICE = 'the journal holds the whole text';

/**
 * The transcripts of a session, oldest first. `events` are in order, with the events of one task together. Tasks whose
 * content was refused have none: a model that reads them would refuse again.
 */
export function toTranscripts(events: readonly TaskEvent[]): readonly TaskTranscript[] {
  const tasks = [...Map.groupBy(events, ({ taskId }) => taskId)];
  const kept = tasks.filter(([, ofTask]) => !ofTask.some(({ body }) => isRefused(body)));
  return kept.map(([taskId, ofTask]) => {
    const lines = ofTask.flatMap(linesOf);
    const text = [formatTime(ofTask[0]!.at), ...lines].join('\n');
    return {
      taskId,
      at: ofTask.at(-1)!.at,
      request: ofTask.map(requestOf).find((each) => each !== '') ?? '',
      output: ofTask.map(outputOf).findLast((each) => each !== '') ?? '',
      text,
      fromOutside: ofTask.some(({ body }) => isFromOutside(body)),
    };
  });
}

/** "2026-11-22 10:03" in UTC. */
export function formatTime(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace('T', ' ');
}

/** The (estimated) tokens of all texts together. */
export function tokensOf(items: readonly { readonly text: string }[]): number {
  return items.reduce((total, { text }) => total + estimateTokens(text), 0);
}

/** The mark after a text from outside. */
export function outsideMark(fromOutside: boolean): string {
  return fromOutside ? ' [from outside]' : '';
}

function linesOf({ author = 'agent', body }: TaskEvent): readonly string[] {
  switch (body.type) {
    case 'message':
      return transcriptLine('user', textOf(body.message.parts), TEXT_MAX_BYTES);
    case 'turn-end':
      return [
        ...transcriptLine(author, answerText(body.content), TEXT_MAX_BYTES),
        ...functionCalls(body.content).flatMap(({ name, arguments: given = {} }) =>
          transcriptLine(`${author} calls ${name}`, JSON.stringify(given), RESULT_MAX_BYTES),
        ),
      ];
    case 'tool-result':
      return transcriptLine(`${body.result.name} gives`, body.result.content, RESULT_MAX_BYTES);
    case 'delegation-end':
      return transcriptLine(body.agent, body.result.content, TEXT_MAX_BYTES);
    default:
      return [];
  }
}

function transcriptLine(author: string, text: string, maxBytes: number): readonly string[] {
  return text.trim() === '' ? [] : [`${author}: ${cutText(text.trim(), maxBytes, ADVICE).text}`];
}

function requestOf({ body }: TaskEvent): string {
  return body.type === 'message' ? textOf(body.message.parts).trim() : '';
}

/** The result of a delegation counts as an output. */
function outputOf({ body }: TaskEvent): string {
  if (body.type === 'turn-end') return answerText(body.content).trim();
  return body.type === 'delegation-end' ? body.result.content.trim() : '';
}
