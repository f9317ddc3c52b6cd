import { failureText, NO_REASON } from '../agents/peer-relay.js';
import type { Peer, PeerDirectory, PeerEvent } from '../core/agent.js';
import { defined } from '../core/json.js';
import { addUsage, NO_USAGE } from '../core/model.js';
import type { BodyOf, EventBody, TaskEvent } from '../core/task.js';
import { answerIn, rootOf, type Recording } from './passes.js';

type EndEvent = Extract<PeerEvent, { type: 'end' }>;

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
function* eventsOf(step: string, { agent, pass: { events } }: Recording, passed: Set<TaskEvent>) {
  const isAt = ({ body }: TaskEvent, type: EventBody['type']) =>
    body.type === type && 'step' in body && body.step === step;
  const first = events.findIndex((event) => isAt(event, 'delegation-start'));
  const last = events.findIndex((event) => isAt(event, 'delegation-end'));
  for (const event of events.slice(first + 1, last < 0 ? undefined : last)) {
    const relayed = passed.has(event) ? undefined : relayedBy(step, event, agent);
    if (!relayed) continue;
    passed.add(event);
    yield relayed;
  }
}

function relayedBy(step: string, { author = '', body }: TaskEvent, agent: string): PeerEvent | undefined {
  const isOwn = author === agent;
  if (body.type === 'delegation-task')
    return body.step === step ? { type: 'task', taskId: body.taskId } : undefined;
  if (body.type === 'activity')
    return isOwn ? undefined : { type: 'activity', author, activity: body.activity };
  if (body.type === 'text-delta' && !body.isMessage) {
    const { artifactId, text, replace } = body;
    return isOwn ? undefined : { type: 'text-delta', author, artifactId, text, replace };
  }
  if (body.type !== 'text-delta' && body.type !== 'artifact') return undefined;
  const whole = body.type === 'artifact' ? body.artifact.id : body.artifactId;
  if (!whole.startsWith(`${step}/`)) return undefined;
  const id = whole.slice(step.length + 1);
  if (body.type === 'artifact') return { type: 'artifact', author, artifact: { ...body.artifact, id } };
  const { text, replace } = body;
  return { type: 'activity', author, activity: { type: 'text', id, text, ...(replace && { replace }) } };
}

/** The end that the peer reported; undefined when this run did not come so far. */
function endOf(step: string, { agent, events, pass }: Recording) {
  const isEnd = ({ body }: TaskEvent) => body.type === 'delegation-end' && body.step === step;
  const end = pass.events.find(isEnd)?.body as BodyOf<'delegation-end'> | undefined;
  if (!end) return undefined;
  const known = events.slice(0, events.findIndex(isEnd) + 1).map(({ body }) => body);
  // A peer reports the total of its task.
  const usage = known.reduce(
    (sum, body) =>
      body.type === 'delegation-end' && rootOf(body.step) === rootOf(step) ? addUsage(sum, body.usage) : sum,
    NO_USAGE,
  );
  const isFinal = known.some((body) => body.type === 'delegation-start' && body.step === step && body.final);
  // The user's answer is as this agent wrote it.
  const isAnswer = end.state === 'completed' && isFinal;
  const answer = isAnswer ? answerIn(pass.events, (author) => author !== agent) : undefined;
  return {
    ...({ type: 'end', state: end.state as EndEvent['state'], usage } as const),
    ...{ text: answer ?? textOf(end), author: end.author ?? end.agent },
    ...{ questions: end.questions ?? [], fromOutside: end.fromOutside ?? false },
    ...defined({ peerContextId: end.peerContextId }),
  };
}

const DELIVERED = /(?:^|\n)\[delivered to the user: [^\n]*\]$/;

/** The text that the peer sent, from the result that the model got: the delegation made that of this. */
function textOf({ state, agent, result: { content }, reason }: BodyOf<'delegation-end'>): string {
  if (state === 'canceled') return '';
  if (state === 'completed') {
    const text = content.replace(DELIVERED, '');
    return text === `${agent} finished without any text.` ? '' : text;
  }
  if (state !== 'rejected' && state !== 'failed') return content;
  const [begin = '', end = ''] = failureText(state, agent, '\n').split('\n');
  const isWhole = content.startsWith(begin) && content.endsWith(end);
  const text = isWhole ? content.slice(begin.length, -end.length) : content;
  if (text === NO_REASON) return '';
  return state === 'failed' && reason === `${text}.` ? reason : text;
}
