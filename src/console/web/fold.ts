import { endsText } from '../../core/activity.js';
import { activityIn, authorIn, seqOf, waits } from './wire.js';
import type { Artifact, Message, Part, Status, StreamEvent, Task } from './wire.js';

/** One thing that people see of a task, in the order in which it began. */
export type Item =
  | { readonly kind: 'user'; readonly key: string; readonly parts: readonly Part[] }
  | (ByAgent & { readonly kind: 'text'; parts: Part[] })
  | (ByAgent & { readonly kind: 'thinking'; readonly text: string })
  | (ByAgent & { readonly kind: 'artifact'; readonly name: string; parts: Part[] })
  | (ByAgent & {
      readonly kind: 'tool';
      readonly tool: string;
      readonly arguments: unknown;
      result?: { readonly text: string; readonly isError: boolean };
    })
  | (ByAgent & {
      readonly kind: 'delegation';
      readonly agent: string;
      readonly request: string;
      readonly startedAt: number;
      endedAt?: number;
      state?: string;
      reason?: string;
    });

type ByAgent = Readonly<{ key: string; author: string }>;

/** `artifacts` are whole; an item has the part of a text that was written between two calls. */
export type View = Readonly<{ items: readonly Item[]; artifacts: readonly Artifact[]; status: Status }>;

/** The task exactly as people saw it after the first `count` events. */
export function viewAt(task: Task, events: readonly StreamEvent[], count: number): View {
  const items: Item[] = [];
  const building: Building = { items, open: new Map(), artifacts: new Map() };
  const said = saidAt(task, events);
  let status: Status = events.length === 0 ? task.status : { state: 'TASK_STATE_SUBMITTED' };
  let next = 0;
  const addSaid = (before: number) => {
    for (; next < said.length && said[next]!.after < before; next += 1) {
      const { messageId, parts } = said[next]!.message;
      items.push({ kind: 'user', key: messageId, parts });
    }
  };
  for (let index = 0; index < count; index += 1) {
    const event = events[index]!;
    addSaid(seqOf(event));
    if (event.artifactUpdate) addArtifact(event.artifactUpdate, building);
    else if (event.statusUpdate) {
      status = event.statusUpdate.status;
      addStatus(event, building);
    }
  }
  addSaid(count === events.length ? Infinity : seqOf(events[count]!));
  return { items, artifacts: [...building.artifacts.values()], status };
}

interface Building {
  readonly items: Item[];
  readonly open: Map<string, Item>; // The items that may still grow.
  readonly artifacts: Map<string, Artifact & { parts: Part[] }>;
}

function addArtifact(
  { artifact, append, metadata }: NonNullable<StreamEvent['artifactUpdate']>,
  { items, open, artifacts }: Building,
): void {
  const { artifactId, name = artifactId, parts } = artifact;
  const whole = append ? artifacts.get(artifactId) : undefined;
  if (whole) whole.parts.push(...parts);
  else artifacts.set(artifactId, { artifactId, name, parts: [...parts] });
  const key = `artifact ${artifactId}`;
  const known = open.get(key);
  if (known?.kind === 'artifact') {
    if (!append) known.parts = [];
    known.parts.push(...parts);
    return;
  }
  // The mark of the end of a text.
  if (append && parts.every(({ text }) => text === '')) return;
  const author = authorIn(artifact) || authorIn({ metadata });
  const item: Item = { kind: 'artifact', key: `${key} ${items.length}`, author, name, parts: [...parts] };
  items.push(item);
  open.set(key, item);
}

/** Ends the texts of an author, or all: what is written next is a text of its own, below what came in between. */
function endTexts(open: Map<string, Item>, author?: string): void {
  for (const [key, item] of open)
    if ('author' in item && (author === undefined || item.author === author)) open.delete(key);
}

function addStatus({ statusUpdate }: StreamEvent, { items, open }: Building): void {
  const { status, metadata } = statusUpdate!;
  const author = authorIn({ metadata });
  const activity = activityIn({ metadata });
  const key = `${items.length}`;
  const at = Date.parse(status.timestamp ?? '');
  if (waits(status.state)) endTexts(open);
  else if (activity && endsText(activity)) endTexts(open, author);
  switch (activity?.type) {
    case 'text': {
      const known = activity.id === undefined ? undefined : open.get(`text ${activity.id}`);
      const part = { text: activity.text };
      if (known?.kind === 'text' && activity.replace) known.parts = [part];
      else if (known?.kind === 'text') known.parts.push(part);
      else items.push({ kind: 'text', key, author, parts: [part] });
      if (activity.id !== undefined && !known) open.set(`text ${activity.id}`, items.at(-1)!);
      return;
    }
    case 'thinking': {
      // Thoughts are told with the end of their turn, and came before its text.
      const said = items.at(-1);
      const isSaid = (said?.kind === 'text' || said?.kind === 'artifact') && said.author === author;
      const item: Item = { kind: 'thinking', key: `thinking ${key}`, author, text: activity.text };
      items.splice(isSaid ? -1 : items.length, 0, item);
      return;
    }
    case 'tool-call':
      items.push({ kind: 'tool', key, author, tool: activity.tool, arguments: activity.arguments });
      return;
    case 'tool-result': {
      const call = items.findLast(
        (item) =>
          item.kind === 'tool' && item.author === author && item.tool === activity.tool && !item.result,
      );
      if (call?.kind === 'tool') call.result = { text: activity.text, isError: activity.isError };
      return;
    }
    case 'delegation-start': {
      const { agent, request } = activity;
      items.push({ kind: 'delegation', key, author, agent, request, startedAt: at });
      return;
    }
    case 'delegation-end': {
      const { agent, state, reason } = activity;
      const begun = items.findLast(
        (item) => item.kind === 'delegation' && item.agent === agent && item.author === author && !item.state,
      );
      if (begun?.kind === 'delegation')
        Object.assign(begun, { state, endedAt: at, ...(reason === undefined ? {} : { reason }) });
      return;
    }
    default:
      if (status.message) items.push({ kind: 'text', key, author, parts: [...status.message.parts] });
  }
}

/** The messages of people, each after the message of an agent that precedes it: they have no events in the stream. */
function saidAt({ id, history = [] }: Task, events: readonly StreamEvent[]) {
  const places = new Map<string, number>();
  for (const event of events) {
    const { status, metadata } = event.statusUpdate ?? {};
    if (status?.message) places.set(status.message.messageId, seqOf(event));
    const activity = activityIn({ metadata });
    if (activity?.type === 'text' && activity.id !== undefined)
      places.set(`${id}:${activity.id}`, seqOf(event));
  }
  let after = 0;
  return history.flatMap((message): { message: Message; after: number }[] => {
    if (message.role === 'ROLE_USER') return [{ message, after }];
    // A text before a call has the number of an event that is not in the stream.
    after = Math.max(after, places.get(message.messageId) ?? numberIn(message.messageId));
    return [];
  });
}

const numberIn = (messageId: string) => Number(/:(\d+)$/.exec(messageId)?.[1] ?? 0);
