import { textPart } from '../../src/core/message.js';
import { isTerminal } from '../../src/core/task.js';
import type { AgentClient, ClientEvent, Part } from '../../src/index.js';
import { connect } from '../../src/index.js';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Home, Server } from '../cli/lango-process.js';
import { ended, makeHome, startServer } from '../cli/lango-process.js';

const TOKEN = 'killable-2b9e6f13a7c4d8';

/** The real program on a data folder that outlives it, to be killed during a call and started again. */
export class KillableServer {
  readonly home: Home;
  #server!: Server;
  #client!: AgentClient;

  private constructor(home: Home) {
    this.home = home;
  }

  /** `nodes` is `auth.nodes`, as YAML. */
  static async open(config: string, nodes = '[]'): Promise<KillableServer> {
    const server = new KillableServer(
      await makeHome(`auth: { token: ${TOKEN}, nodes: ${nodes} }\nmodel: { provider: offline }\n${config}`),
    );
    await server.start();
    return server;
  }

  get origin(): string {
    return this.#server.origin;
  }

  get token(): string {
    return TOKEN;
  }

  async start(): Promise<void> {
    this.#server = await startServer(this.home);
    this.#client = connect({ url: this.#server.origin, token: TOKEN });
  }

  /** Kills the program with SIGKILL. Resolves once the process is gone. */
  async kill(): Promise<void> {
    const { child } = this.#server;
    const gone = ended(child);
    child.kill('SIGKILL');
    await gone;
  }

  async close(): Promise<void> {
    await this.#server.stop();
    await this.home.remove();
  }

  /** Sends a text and waits for the end of the run. */
  async say(text: string, place: Place = {}) {
    return this.send([textPart(text)], place);
  }

  async send(parts: readonly Part[], place: Place = {}) {
    for await (const event of this.#client.send({ parts, ...place }, AbortSignal.timeout(100_000))) {
      if (event.type === 'end') return event;
    }
    throw new Error('the stream had no end');
  }

  /** Sends a text, and kills the program at `moment`. Resolves with the task's id once the server was started again. */
  async killedWhile(text: string, { place = {}, moment, afterDeath }: Killing): Promise<string> {
    const watching = new AbortController();
    const death = Promise.withResolvers<void>();
    const die = (): void => void this.kill().then(death.resolve, death.reject);
    let taskId = '';
    const watch = async (): Promise<void> => {
      for await (const event of this.#client.send({ parts: [textPart(text)], ...place }, watching.signal)) {
        if (event.type === 'task') taskId ||= event.taskId;
        moment.onEvent?.(event, die);
      }
    };
    moment.arm?.(die);
    const sending = watch().catch(() => undefined);
    await death.promise;
    watching.abort(new Error('enough'));
    await sending;
    afterDeath?.();
    await this.start();
    return taskId;
  }

  /** The task once it has ended, or waits for a person. */
  async settled(taskId: string) {
    for (let round = 0; round < 1_000; round += 1) {
      const task = await this.#client.get({ taskId });
      if (isTerminal(task.state) || task.state === 'input-required') return task;
      await sleep(100);
    }
    throw new Error(`task ${taskId} did not end`);
  }
}

interface Place {
  readonly contextId?: string;
  readonly taskId?: string;
}

/**
 * The moment of the kill: an event that the client sees, or a call of `die` from what `arm` connects. The first one
 * counts.
 */
export interface Moment {
  readonly onEvent?: (event: ClientEvent, die: () => void) => void;
  readonly arm?: (die: () => void) => void;
}

interface Killing {
  readonly place?: Place;
  readonly moment: Moment;
  /** Called before the program is started again. */
  readonly afterDeath?: () => void;
}

/** Some milliseconds after the call of a tool is in the journal: its effect may have happened or not. */
export function afterCall(tool: string, ms: number): Moment {
  let isOver = false;
  return {
    onEvent({ type, ...event }, die) {
      if (isOver || type !== 'activity') return;
      const { activity } = event as Extract<ClientEvent, { type: 'activity' }>;
      if (activity.type !== 'tool-call' || activity.tool !== tool) return;
      isOver = true;
      setTimeout(die, ms);
    },
  };
}
