import type { Agent, Peer, PeerDirectory, PeerEvent, PeerRequest } from '../../src/core/agent.js';
import type { RunEnd } from '../../src/core/run.js';
import { NO_USAGE } from '../../src/core/model.js';
import type { EventBody, TaskEvent } from '../../src/core/task.js';
import { MemoryRun } from './memory-run.js';

/** Real agents behind the peer contract, in memory: a known message id attaches to its task again. */
export class MemoryPeers implements PeerDirectory {
  readonly #agents: Agent[];
  readonly #tasks = new Map<string, { run: MemoryRun; done: Promise<RunEnd | undefined> }>();
  readonly #taskOfMessage = new Map<string, string>();
  readonly requests: { readonly agent: string; readonly request: PeerRequest }[] = [];
  readonly #peers = new Map<string, Peer>();

  constructor(agents: readonly Agent[]) {
    this.#agents = [...agents];
  }

  list(): readonly Peer[] {
    return this.#agents.map((agent) => this.#peer(agent));
  }

  get(name: string): Peer | undefined {
    return this.list().find((peer) => peer.name === name);
  }

  async ready(): Promise<void> {}

  async wait(name: string): Promise<Peer | undefined> {
    return this.get(name);
  }

  add(agent: Agent): void {
    this.#agents.push(agent);
  }

  remove(name: string): void {
    this.#agents.splice(
      this.#agents.findIndex(({ profile }) => profile.name === name),
      1,
    );
  }

  /** The number of tasks that were begun, without repeats. */
  get tasks(): number {
    return this.#tasks.size;
  }

  taskOf(agent: string): MemoryRun | undefined {
    return [...this.#tasks.values()].find(({ run }) => run.task.agent === agent)?.run;
  }

  #peer(agent: Agent): Peer {
    const { name } = agent.profile;
    const known = this.#peers.get(name);
    if (known) return known;
    const peer: Peer = {
      ...agent.profile,
      isRemote: false,
      send: (request, signal) => this.#send(agent, request, signal),
      cancel: async (_, task) => this.#tasks.get('taskId' in task ? task.taskId : '')?.run.abort(),
    };
    this.#peers.set(name, peer);
    return peer;
  }

  async *#send(agent: Agent, request: PeerRequest, signal: AbortSignal): AsyncIterable<PeerEvent> {
    const { name } = agent.profile;
    this.requests.push({ agent: name, request });
    const { taskId, from } = this.#accept(agent, request);
    const { run, done } = this.#tasks.get(taskId)!;
    const cancel = () => run.abort();
    signal.addEventListener('abort', cancel, { once: true });
    yield { type: 'task', taskId };
    for (let seq = from; ; seq += 1) {
      while (seq > run.events.length) await Promise.race([nextEvent(run), done]);
      const event = toPeerEvent(run.events[seq - 1]!, run);
      if (event) yield event;
      if (event?.type === 'end') return;
    }
  }

  /** The task of a message, and the `seq` after it. */
  #accept(agent: Agent, { message, taskId, contextId, parentTaskId, grant, isAnswer }: PeerRequest) {
    const known = this.#taskOfMessage.get(message.id);
    const id = known ?? (isAnswer ? taskId : undefined) ?? `child-${this.#tasks.size + 1}`;
    this.#taskOfMessage.set(message.id, id);
    if (!known) {
      const before = this.#tasks.get(id)?.run;
      const about = { id, contextId, parentTaskId, grant };
      const run = before ? before.followedBy(message) : MemoryRun.of(agent.profile.name, message, about);
      const done = run.perform(agent).catch((error: unknown) => {
        run.emit({
          type: 'run-end',
          state: run.signal.aborted ? 'canceled' : 'failed',
          reason: String(error),
          usage: NO_USAGE,
        });
        return undefined;
      });
      this.#tasks.set(id, { run, done });
    }
    const { events } = this.#tasks.get(id)!.run;
    const asked = events.find(({ body }) => body.type === 'message' && body.message.id === message.id);
    return { taskId: id, from: asked!.seq + 1 };
  }
}

function nextEvent(run: MemoryRun): Promise<void> {
  return new Promise((resolve) => {
    const stop = run.onEvent(() => {
      stop();
      resolve();
    });
  });
}

function toPeerEvent(event: TaskEvent, run: MemoryRun): PeerEvent | undefined {
  const { body } = event;
  const author = event.author ?? run.task.agent;
  switch (body.type) {
    case 'text-delta':
      return { ...body, author };
    case 'artifact':
      return { type: 'artifact', author, artifact: body.artifact };
    case 'activity':
      return { type: 'activity', author, activity: body.activity };
    case 'tool-call':
      return {
        type: 'activity',
        author,
        activity: { type: 'tool-call', tool: body.tool, arguments: body.arguments },
      };
    case 'run-end':
      return endOf(body, run, author);
    default:
      return undefined;
  }
}

function endOf(body: Extract<EventBody, { type: 'run-end' }>, run: MemoryRun, author: string): PeerEvent {
  const part = body.message?.parts[0];
  const said = part?.kind === 'text' ? part.text : (body.reason ?? '');
  return {
    type: 'end',
    state: body.state,
    text: body.state === 'completed' ? (run.answer() ?? '') : said,
    author,
    questions: body.questions ?? [],
    usage: body.usage,
    fromOutside: run.hasReadOutside(),
  };
}
