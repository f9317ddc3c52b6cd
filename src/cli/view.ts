import type { ClientEvent } from '../a2a/client/reader.js';
import type { Activity } from '../core/task.js';
import { createRenderer, questionText } from './render.js';
import { jsonLine, safeText } from './safe-text.js';
import type { Terminal } from './terminal.js';

/** Shows the events of a task to the person who started the command. */
export interface View {
  show(event: ClientEvent): void;
}

/** Shows all events as they happen, and a progress line in between. */
export function storyView(terminal: Terminal): View {
  const { progress } = terminal;
  const renderer = createRenderer({ color: terminal.color, live: terminal.isLive, write: terminal.write });
  return {
    show(event) {
      progress.label(progressLabel(event));
      renderer.show(event);
      progress.hold(renderer.isMidLine);
    },
  };
}

/** Writes only the answer to standard output, fit for a pipe, and all else to standard error. */
export function answerView(terminal: Terminal): View {
  return {
    show(event) {
      terminal.progress.label(progressLabel(event));
      if (event.type !== 'end') return;
      if (event.state === 'completed') terminal.print(safeText(event.text));
      else if (event.questions.length > 0) terminal.note(event.state);
      else terminal.note(`${event.state}: ${safeText(event.text)}`);
      for (const question of event.questions) terminal.note(questionText(question, terminal.noteColor));
    },
  };
}

/** Writes each event as a line of JSON. */
export function jsonLinesView(terminal: Terminal): View {
  return { show: (event) => terminal.print(jsonLine(event)) };
}

export const silentView: View = { show() {} };

function progressLabel(event: ClientEvent): string {
  switch (event.type) {
    case 'activity':
      return activityLabel(event.author, event.activity);
    case 'text-delta':
    case 'artifact':
      return `${event.author} answers`;
    case 'task':
    case 'status':
    case 'end':
      return 'working';
  }
}

function activityLabel(author: string, activity: Activity): string {
  switch (activity.type) {
    case 'tool-call':
      return `${author} runs ${activity.tool}`;
    case 'delegation-start':
      return `${activity.agent} works`;
    case 'turn-start':
    case 'text':
    case 'tool-result':
    case 'delegation-end':
      return `${author} thinks`;
  }
}
