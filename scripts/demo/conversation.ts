import type { AgentClient, ClientEvent, Part } from '../../src/index.js';
import { replyPart, textPart } from '../../src/index.js';
import { Renderer } from '../../src/cli/render.js';
import { createPaint } from '../../src/terminal/paint.js';

const REQUEST_MS = 60_000;

type End = Extract<ClientEvent, { readonly type: 'end' }>;

/** The observed events of one request. */
export interface Outcome {
  readonly end: End;
  readonly events: readonly ClientEvent[];
}

export interface Demo {
  readonly client: AgentClient;
  readonly say: (line: string) => void;
}

/** Sends a request and shows what happens as it happens. Questions for approval are shown and approved. */
export async function ask(demo: Demo, request: string): Promise<Outcome> {
  demo.say(`\n── You: ${request}`);
  const events: ClientEvent[] = [];
  let end = await converse(demo, events, { parts: [textPart(request)] });
  while (end.state === 'input-required' && end.questions.length > 0) {
    demo.say('── You: approved (the demo answers for you)');
    const parts = end.questions.map(({ hash }) => replyPart({ hash, decision: 'approve' }));
    end = await converse(demo, events, { parts, taskId: taskOf(events) });
  }
  return { end, events };
}

interface Turn {
  readonly parts: readonly Part[];
  readonly taskId?: string;
}

async function converse({ client }: Demo, events: ClientEvent[], turn: Turn): Promise<End> {
  const isLive = process.stdout.isTTY;
  const write = (text: string) => void process.stdout.write(text);
  const renderer = new Renderer({ paint: createPaint(isLive), isLive, columns: undefined, write });
  for await (const event of client.send(turn, AbortSignal.timeout(REQUEST_MS))) {
    renderer.show(event);
    events.push(event);
    if (event.type === 'end') return event;
  }
  throw new Error('the stream ended without an end');
}

function taskOf(events: readonly ClientEvent[]): string {
  const task = events.find((event) => event.type === 'task');
  if (!task) throw new Error('the server named no task');
  return task.taskId;
}

/** The agents that the root agent delegated to, in order. */
export function delegations({ events }: Outcome): readonly string[] {
  return events.flatMap((event) =>
    event.type === 'activity' && event.activity.type === 'delegation-start' ? [event.activity.agent] : [],
  );
}

/** Whether the last delegation began before the first one ended. */
export function sideBySide({ events }: Outcome): boolean {
  const types = events.flatMap((event) => (event.type === 'activity' ? [event.activity.type] : []));
  return types.lastIndexOf('delegation-start') < types.indexOf('delegation-end');
}

/** Throws an error with the text of `claim` when it is not true. The demo succeeds only when the effects are there. */
export function check(claim: string, holds: boolean): void {
  if (!holds) throw new Error(`the demo expected that ${claim}, and it is not so`);
}
