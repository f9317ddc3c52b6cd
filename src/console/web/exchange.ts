import type { Span } from '../../core/node-status.js';
import { activityIn, authorIn, type StreamEvent } from './wire.js';

/** The times of the journal and of a task on another node may differ by so much. */
const NEAR_MS = 2_000;

interface Exchange {
  readonly input?: unknown;
  readonly output?: string;
  /** The number of the event with which the step began. */
  readonly event?: number;
}

/** The input and the output of a step, read from the events of the task. `agent`: whose step it is. */
export function exchangeOf(span: Span, agent: string | undefined, events: readonly StreamEvent[]): Exchange {
  const [operation, subject = ''] = span.name.split(' ');
  const type =
    operation === 'execute_tool' ? 'tool-call' : operation === 'chat' ? 'turn-start' : 'delegation-start';
  const at = nearest(events, span.startedAt, (event) => {
    const activity = activityOf(event);
    // The first turn of a run begins with the run, whose event is a status without an activity.
    if (type === 'turn-start' && isRunStart(event)) return agent === undefined || authorOf(event) === agent;
    if (activity?.type !== type) return false;
    if (activity.type === 'delegation-start') return activity.agent === subject;
    if (activity.type === 'tool-call' && activity.tool !== subject) return false;
    return agent === undefined || authorOf(event) === agent;
  });
  if (at === undefined) return {};
  const begin = activityOf(events[at]!);
  const author = authorOf(events[at]!);
  const place = { event: at + 1 };
  if (begin?.type === 'delegation-start') return { ...place, input: begin.request };
  const later = events.slice(at + 1);
  if (begin?.type !== 'tool-call') return { ...place, output: outputAfter(later, author) };
  const result = later.map(activityOf).find((one) => one?.type === 'tool-result' && one.tool === begin.tool);
  const output = result?.type === 'tool-result' && { output: result.text };
  return { ...place, input: begin.arguments, ...output };
}

const isRunStart = (event: StreamEvent) =>
  event.statusUpdate?.status.state === 'TASK_STATE_WORKING' && activityOf(event) === undefined;

/** The output of a model: the text that an author writes, and what they call after it. */
function outputAfter(events: readonly StreamEvent[], author: string): string {
  let text = '';
  for (const event of events) {
    if (authorOf(event) !== author) continue;
    const activity = activityOf(event);
    if (event.artifactUpdate)
      text += event.artifactUpdate.artifact.parts.map((part) => part.text ?? '').join('');
    else if (activity?.type === 'text') text += activity.text;
    else {
      const call = activity?.type === 'tool-call' ? `Calls ${activity.tool}.` : '';
      const asked =
        activity?.type === 'delegation-start' ? `Asks ${activity.agent}: ${activity.request}` : '';
      return [text, call, asked].filter(Boolean).join('\n\n');
    }
  }
  return text;
}

const activityOf = ({ statusUpdate }: StreamEvent) => activityIn({ metadata: statusUpdate?.metadata });
const authorOf = ({ statusUpdate, artifactUpdate }: StreamEvent) =>
  authorIn({ metadata: statusUpdate?.metadata ?? artifactUpdate?.artifact.metadata });

const timeOf = ({ statusUpdate }: StreamEvent) => Date.parse(statusUpdate?.status.timestamp ?? '');

/**
 * The index of the event that is nearest to a time, of those that `isMeant`; undefined when none is near. The start of
 * a run counts from its own time on, however long the first turn takes to begin.
 */
function nearest(
  events: readonly StreamEvent[],
  time: number,
  isMeant: (event: StreamEvent) => boolean,
): number | undefined {
  const before = events.findLastIndex((event) => timeOf(event) <= time && isMeant(event));
  if (before >= 0 && isRunStart(events[before]!)) return before;
  let found: number | undefined;
  let best = NEAR_MS;
  for (const [index, event] of events.entries()) {
    const off = Math.abs(timeOf(event) - time);
    if (!(off <= best) || !isMeant(event)) continue;
    [found, best] = [index, off];
  }
  return found;
}
