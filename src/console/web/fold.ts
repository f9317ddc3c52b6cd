import {
  activityIn,
  authorIn,
  seqOf,
  type Artifact,
  type Message,
  type Part,
  type Status,
  type StreamEvent,
  type Task,
} from './wire.js';

/** One thing that people see of a task, in the order in which it began. */
export type Item =
  | { readonly kind: 'user'; readonly key: string; readonly parts: readonly Part[] }
  | { readonly kind: 'text'; readonly key: string; readonly author: string; parts: Part[] }
  | { readonly kind: 'artifact'; readonly key: string; readonly author: string; name: string; parts: Part[] }
  | ToolCall
  | Delegation;

interface ToolCall {
  readonly kind: 'tool';
  readonly key: string;
  readonly author: string;
  readonly tool: string;
  readonly arguments: unknown;
  result?: { readonly text: string; readonly isError: boolean };
}

interface Delegation {
  readonly kind: 'delegation';
  readonly key: string;
  readonly author: string;
  readonly agent: string;
  readonly request: string;
  readonly startedAt: number;
  endedAt?: number;
  state?: string;
  reason?: string;
}

export interface View {
  readonly items: readonly Item[];
  readonly status: Status;
}

/** The task exactly as people saw it after the first `count` events. */
export function viewAt(task: Task, events: readonly StreamEvent[], count: number): View {
  const items: Item[] = [];
  const open = new Map<string, Item>();
  const said = saidAt(task, events);
  const start = { state: 'TASK_STATE_SUBMITTED' };
  let status: Status = count === 0 && events.length === 0 ? task.status : start;
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
    if (event.artifactUpdate) addArtifact(event.artifactUpdate, { items, open });
    else if (event.statusUpdate) {
      status = event.statusUpdate.status;
      addStatus(event, { items, open });
    }
  }
  addSaid(count === events.length ? Infinity : seqOf(events[count]!));
  return { items, status };
}

interface Building {
  readonly items: Item[];
  /** The items that may still grow. */
  readonly open: Map<string, Item>;
}

function addArtifact(
  { artifact, append, metadata }: NonNullable<StreamEvent['artifactUpdate']>,
  { items, open }: Building,
): void {
  const key = `artifact ${artifact.artifactId}`;
  const known = open.get(key);
  if (known?.kind === 'artifact') {
    if (!append) known.parts = [];
    known.parts.push(...artifact.parts);
    return;
  }
  const { name = artifact.artifactId, parts } = artifact;
  const author = authorIn(artifact) || authorIn({ metadata });
  const item: Item = { kind: 'artifact', key, author, name, parts: [...parts] };
  items.push(item);
  open.set(key, item);
}

function addStatus({ statusUpdate }: StreamEvent, { items, open }: Building): void {
  const { status, metadata } = statusUpdate!;
  const author = authorIn({ metadata });
  const activity = activityIn({ metadata });
  const key = `${items.length}`;
  const at = Date.parse(status.timestamp ?? '');
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
    case 'tool-call': {
      const { tool, arguments: given } = activity;
      items.push({ kind: 'tool', key, author, tool, arguments: given });
      return;
    }
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

interface Said {
  readonly message: Message;
  /** The number of the last event before the message. */
  readonly after: number;
}

/** A message of a person has no event in the stream. Its place is after the message of an agent that precedes it. */
function saidAt({ id, history = [] }: Task, events: readonly StreamEvent[]): readonly Said[] {
  const places = new Map<string, number>();
  for (const event of events) {
    const { status, metadata } = event.statusUpdate ?? {};
    if (status?.message) places.set(status.message.messageId, seqOf(event));
    const activity = activityIn({ metadata });
    if (activity?.type === 'text' && activity.id !== undefined)
      places.set(`${id}:${activity.id}`, seqOf(event));
  }
  let after = 0;
  return history.flatMap((message) => {
    if (message.role === 'ROLE_USER') return [{ message, after }];
    after = Math.max(after, places.get(message.messageId) ?? 0);
    return [];
  });
}

export function artifactsIn(items: readonly Item[]): readonly Artifact[] {
  return items.flatMap((item) =>
    item.kind === 'artifact' ? [{ artifactId: item.key, name: item.name, parts: item.parts }] : [],
  );
}
