import { textOf } from '../../core/message.js';
import { answerText, functionCalls } from '../../core/model.js';
import { isFromOutside, type TaskEvent } from '../../core/task.js';
import { cutText, estimateTokens } from '../../core/text.js';

/** The conversation of one task: messages, answers, calls and results. */
export interface TaskTranscript {
  readonly taskId: string;
  /** Time of the newest entry, in milliseconds since the epoch. */
  readonly at: number;
  readonly asked: string;
  readonly answered: string;
  /** One line per entry, with its author. */
  readonly text: string;
  readonly tokens: number;
  readonly fromOutside: boolean;
}

const ENTRY_MAX_BYTES = 2_000;
const RESULT_MAX_BYTES = 400;
const ADVICE = 'the journal holds the whole text';

/** The transcripts of a session, oldest first. `events` are in order, with the events of one task together. */
export function toTranscripts(events: readonly TaskEvent[]): readonly TaskTranscript[] {
  return [...Map.groupBy(events, ({ taskId }) => taskId)].map(([taskId, entries]) => {
    const lines = entries.flatMap(linesOf);
    const text = [`${formatTime(entries[0]!.at)}`, ...lines].join('\n');
    return {
      taskId,
      at: entries.at(-1)!.at,
      asked: entries.map(questionOf).find((each) => each !== '') ?? '',
      answered: entries.map(answerOf).findLast((each) => each !== '') ?? '',
      text,
      tokens: estimateTokens(text),
      fromOutside: entries.some(({ body }) => isFromOutside(body)),
    };
  });
}

/** "2026-11-22 10:03" in UTC. */
export function formatTime(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace('T', ' ');
}

/** The mark after a text from outside. */
export function outsideMark(fromOutside: boolean): string {
  return fromOutside ? ' [from outside]' : '';
}

function linesOf({ author, body }: TaskEvent): readonly string[] {
  switch (body.type) {
    case 'message':
      return transcriptLine('user', textOf(body.message.parts), ENTRY_MAX_BYTES);
    case 'turn-end':
      return [
        ...transcriptLine(author ?? 'agent', answerText(body.content), ENTRY_MAX_BYTES),
        ...functionCalls(body.content).flatMap((call) =>
          transcriptLine(
            `${author ?? 'agent'} calls ${call.name}`,
            JSON.stringify(call.arguments ?? {}),
            RESULT_MAX_BYTES,
          ),
        ),
      ];
    case 'tool-result':
      return transcriptLine(`${body.result.name} gives`, body.result.content, RESULT_MAX_BYTES);
    case 'delegation-end':
      return transcriptLine(body.agent, body.result.content, ENTRY_MAX_BYTES);
    default:
      return [];
  }
}

function transcriptLine(author: string, text: string, maxBytes: number): readonly string[] {
  return text.trim() === '' ? [] : [`${author}: ${cutText(text.trim(), maxBytes, ADVICE).text}`];
}

function questionOf({ body }: TaskEvent): string {
  return body.type === 'message' ? textOf(body.message.parts).trim() : '';
}

/** The result of a delegation counts as an answer. */
function answerOf({ body }: TaskEvent): string {
  if (body.type === 'turn-end') return answerText(body.content).trim();
  return body.type === 'delegation-end' ? body.result.content.trim() : '';
}
