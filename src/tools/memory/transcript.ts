import { textOf } from '../../core/message.js';
import { answerText, functionCalls } from '../../core/model.js';
import { isFromOutside, type TaskEvent } from '../../core/task.js';
import { cutText, estimateTokens } from '../../core/text.js';

/** The whole conversation of one task: its messages, answers, calls and results together. */
export interface TaskTranscript {
  readonly taskId: string;
  /** When its newest entry was made, in milliseconds since the epoch. */
  readonly at: number;
  readonly asked: string;
  readonly answered: string;
  /** A line for each entry, with who spoke. */
  readonly text: string;
  readonly tokens: number;
  readonly fromOutside: boolean;
}

const ENTRY_MAX_BYTES = 2_000;
const RESULT_MAX_BYTES = 400;
const ADVICE = 'the whole stands in the journal';

/** The transcripts of a session, oldest first. `events` in order, those of one task together. */
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

/** Behind the text of a note. */
export function outsideMark(fromOutside: boolean): string {
  return fromOutside ? ' [from outside]' : '';
}

function linesOf({ author, body }: TaskEvent): readonly string[] {
  switch (body.type) {
    case 'message':
      return said('user', textOf(body.message.parts), ENTRY_MAX_BYTES);
    case 'turn-end':
      return [
        ...said(author ?? 'agent', answerText(body.content), ENTRY_MAX_BYTES),
        ...functionCalls(body.content).flatMap((call) =>
          said(
            `${author ?? 'agent'} calls ${call.name}`,
            JSON.stringify(call.arguments ?? {}),
            RESULT_MAX_BYTES,
          ),
        ),
      ];
    case 'tool-result':
      return said(`${body.result.name} gives`, body.result.content, RESULT_MAX_BYTES);
    case 'delegation-end':
      return said(body.agent, body.result.content, ENTRY_MAX_BYTES);
    default:
      return [];
  }
}

function said(who: string, text: string, maxBytes: number): readonly string[] {
  return text.trim() === '' ? [] : [`${who}: ${cutText(text.trim(), maxBytes, ADVICE).text}`];
}

function questionOf({ body }: TaskEvent): string {
  return body.type === 'message' ? textOf(body.message.parts).trim() : '';
}

/** A delegation that was the answer stands for one. */
function answerOf({ body }: TaskEvent): string {
  if (body.type === 'turn-end') return answerText(body.content).trim();
  return body.type === 'delegation-end' ? body.result.content.trim() : '';
}
