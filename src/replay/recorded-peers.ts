import { failureText, NO_REASON } from '../agents/peer-relay.js';
import type { Peer, PeerDirectory, PeerEvent } from '../core/agent.js';
import { addUsage, NO_USAGE } from '../core/model.js';
import type { EventBody, TaskEvent } from '../core/task.js';
import { rootOf, type Pass, type Recording } from './passes.js';

type DelegationEnd = Extract<EventBody, { type: 'delegation-end' }>;

/** The agents that a recorded task delegated to: each says again what it said. */
export function recordedPeers(options: Recording): PeerDirectory {
  const { events, blocked } = options;
  const starts = events.map(({ body }) => body).filter((body) => body.type === 'delegation-start');
  /** Agents that work at the same time may share the activities of an agent below. Each is passed on once. */
  const passed = new Set<TaskEvent>();
  const peers = [...new Set(starts.map(({ agent }) => agent))].map((name): Peer => ({
    ...{ name, description: '', skills: [], isRemote: false },
    async *send({ message }) {
      const step = starts.find(({ key }) => key === message.id)?.step;
      const end = step === undefined ? undefined : endOf(step, options);
      if (step !== undefined) yield* eventsOf(step, options, passed);
      if (end) yield end;
      else await blocked();
    },
    cancel: async () => {},
  }));
  const get = (name: string) => peers.find((peer) => peer.name === name);
  return { list: () => peers, ready: async () => {}, get, wait: async (name) => get(name) };
}

/** The events of the peer, as far as this run relayed it. */
function* eventsOf(
  step: string,
  { agent, pass: { events } }: Recording,
  passed: Set<TaskEvent>,
): Generator<PeerEvent> {
  const isAt = ({ body }: TaskEvent, type: EventBody['type']) =>
    body.type === type && 'step' in body && body.step === step;
  const first = events.findIndex((event) => isAt(event, 'delegation-start'));
  const last = events.findIndex((event) => isAt(event, 'delegation-end'));
  for (const event of events.slice(first + 1, last < 0 ? undefined : last)) {
    if (passed.has(event)) continue;
    const relayed = relayedBy(step, event, agent);
    if (!relayed) continue;
    passed.add(event);
    yield relayed;
  }
}

function relayedBy(step: string, { author = '', body }: TaskEvent, agent: string): PeerEvent | undefined {
  switch (body.type) {
    case 'delegation-task':
      return body.step === step ? { type: 'task', taskId: body.taskId } : undefined;
    case 'activity':
      return author === agent ? undefined : { type: 'activity', author, activity: body.activity };
    case 'text-delta': {
      const { artifactId, text, replace } = body;
      if (!body.isMessage)
        return author === agent ? undefined : { type: 'text-delta', author, artifactId, text, replace };
      const id = idBelow(step, artifactId);
      if (id === undefined) return undefined;
      return { type: 'activity', author, activity: { type: 'text', id, text, ...(replace && { replace }) } };
    }
    case 'artifact': {
      const id = idBelow(step, body.artifact.id);
      return id === undefined ? undefined : { type: 'artifact', author, artifact: { ...body.artifact, id } };
    }
    default:
      return undefined;
  }
}

function idBelow(step: string, id: string): string | undefined {
  return id.startsWith(`${step}/`) ? id.slice(step.length + 1) : undefined;
}

/** The end that the peer reported; undefined when this run did not come so far. */
function endOf(step: string, options: Recording): Extract<PeerEvent, { type: 'end' }> | undefined {
  const { agent, events, pass } = options;
  const bodies = pass.events.map(({ body }) => body);
  const end = bodies.find((body) => body.type === 'delegation-end' && body.step === step) as
    DelegationEnd | undefined;
  if (!end) return undefined;
  // A peer reports the total of its task.
  let usage = NO_USAGE;
  for (const { body } of events) {
    if (body.type !== 'delegation-end' || rootOf(body.step) !== rootOf(step)) continue;
    usage = addUsage(usage, body.usage);
    if (body.step === step) break;
  }
  const answer = end.state === 'completed' && isFinal(step, events) ? answerOf(pass, agent) : undefined;
  return {
    ...{ type: 'end', state: end.state as Extract<PeerEvent, { type: 'end' }>['state'], usage },
    text: answer ?? textOf(end),
    author: end.author ?? end.agent,
    questions: end.questions ?? [],
    fromOutside: end.fromOutside ?? false,
    ...(end.peerContextId !== undefined && { peerContextId: end.peerContextId }),
  };
}

function isFinal(step: string, events: readonly TaskEvent[]): boolean {
  return events.some(({ body }) => body.type === 'delegation-start' && body.step === step && body.final);
}

/** The user's answer as another agent wrote it, in a delegation whose answer is the user's. */
function answerOf({ events }: Pass, agent: string): string | undefined {
  let text: string | undefined;
  for (const { author, body } of events) {
    if (body.type !== 'text-delta' || body.isMessage || author === agent) continue;
    text = body.replace || text === undefined ? body.text : text + body.text;
  }
  return text;
}

const DELIVERED = /(?:^|\n)\[delivered to the user: [^\n]*\]$/;

/** The text that the peer sent, from the result that the model got: the delegation made that of this. */
function textOf({ state, agent, result: { content }, reason }: DelegationEnd): string {
  switch (state) {
    case 'completed': {
      const text = content.replace(DELIVERED, '');
      return text === `${agent} finished without any text.` ? '' : text;
    }
    case 'rejected':
    case 'failed': {
      const [begin = '', end = ''] = failureText(state, agent, '\n').split('\n');
      const isWhole = content.startsWith(begin) && content.endsWith(end);
      const text = isWhole ? content.slice(begin.length, -end.length) : content;
      if (text === NO_REASON) return '';
      return state === 'failed' && reason === `${text}.` ? reason : text;
    }
    case 'canceled':
      return '';
    default:
      return content;
  }
}
