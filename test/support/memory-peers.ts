import { TaskReader } from '../../src/a2a/client/reader.js';
import { toUpdate } from '../../src/a2a/translate/events.js';
import { Changes } from '../../src/a2a/translate/generation.js';
import type { Agent, Peer, PeerDirectory, PeerEvent, PeerRequest } from '../../src/core/agent.js';
import type { RunEnd } from '../../src/core/run.js';
import { NO_USAGE } from '../../src/core/model.js';
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
    const changes = new Changes();
    const reader = new TaskReader({ agent: name, isRemote: false });
    for (let seq = from; !reader.hasEnded; seq += 1) {
      while (seq > run.events.length) await Promise.race([nextEvent(run), done]);
      const event = run.events[seq - 1]!;
      const isShown = changes.add(event);
      const update = isShown ? toUpdate(event, request.contextId, event.author ?? name) : undefined;
      for (const read of reader.read(update)) if (read.type !== 'status') yield read;
    }
  }

  /** The task of a message, and the `seq` after it. */
  #accept(agent: Agent, { message, taskId, contextId, parentTaskId, grant, isReply }: PeerRequest) {
    const known = this.#taskOfMessage.get(message.id);
    const id = known ?? (isReply ? taskId : undefined) ?? `child-${this.#tasks.size + 1}`;
    this.#taskOfMessage.set(message.id, id);
    if (!known) {
      const before = this.#tasks.get(id)?.run;
      const about = { id, contextId, parentTaskId, grant };
      const run = before ? before.followedBy(message) : MemoryRun.of(agent.profile.name, message, about);
      const done = run.perform(agent).catch(async (error: unknown) => {
        const state = run.signal.aborted ? 'canceled' : 'failed';
        await run.append({ type: 'run-end', state, reason: String(error), usage: NO_USAGE });
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
