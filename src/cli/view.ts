import type { ClientEvent, EndEvent } from '../a2a/client/reader.js';
import { Renderer, questionText } from './render.js';
import { jsonLine, safeText } from '../terminal/safe-text.js';
import type { Terminal } from '../terminal/terminal.js';

/** Shows one event of a task to the person who started the command. */
export type View = (event: ClientEvent) => void;

/**
 * Makes a view: `story` shows all events as they happen, and a progress line in between; `answer` writes only the answer
 * to standard output, fit for a pipe, and all else to standard error; `json` writes each event as a line of JSON.
 */
export function viewOf(kind: 'story' | 'answer' | 'json', terminal: Terminal): View {
  const { paint, progress, isLive, columns, write, print } = terminal;
  if (kind === 'json') return (event) => print(jsonLine(event));
  const renderer = new Renderer({ color: paint.isColored, live: isLive, columns, write });
  return (event) => {
    progress.label(progressLabel(event));
    if (kind === 'story') {
      renderer.show(event);
      progress.hold(renderer.isMidLine);
    } else if (event.type === 'end') showAnswer(event, terminal);
  };
}

export const silentView: View = () => {};

function showAnswer({ state, text, questions }: EndEvent, { print, note, notePaint }: Terminal): void {
  if (state === 'completed') print(safeText(text));
  else note(questions.length > 0 ? state : `${state}: ${safeText(text)}`);
  for (const question of questions) note(questionText(question, notePaint));
}

function progressLabel(event: ClientEvent): string {
  if (event.type === 'text-delta' || event.type === 'artifact') return `${event.author} answers`;
  if (event.type !== 'activity') return 'working';
  const { author, activity } = event;
  if (activity.type === 'tool-call') return `${author} runs ${activity.tool}`;
  return activity.type === 'delegation-start' ? `${activity.agent} works` : `${author} thinks`;
}
