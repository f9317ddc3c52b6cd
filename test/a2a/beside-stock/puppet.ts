import { TaskState } from '@a2a-js/sdk';
import type { AgentExecutor, ExecutionEventBus, RequestContext } from '@a2a-js/sdk/server';
import { Script } from '../client/scripted-executor.js';

/** One run of a puppet: the text it was asked, its script, and the wait for `release`. */
interface Act {
  readonly asked: string;
  readonly say: Script;
  readonly bus: ExecutionEventBus;
  readonly context: RequestContext;
  readonly released: Promise<void>;
  /** Resolves when the server tells the run to cancel. */
  readonly told: Promise<void>;
  /** The number of this run among those of its task, from 1 on. */
  readonly count: number;
}

export type Play = (act: Act) => Promise<void> | void;

/** Begins a task and works on it until it is released. */
export const worksUntilReleased: Play = async ({ say, released }) => {
  say.open();
  say.status(TaskState.TASK_STATE_WORKING);
  await released;
  say.status(TaskState.TASK_STATE_COMPLETED);
};

/** An executor for the stock SDK that plays the script of the test at hand. Both servers run it. */
export class Puppet implements AgentExecutor {
  /** The ids of the tasks that the puppet was told to cancel. */
  readonly canceled: string[] = [];
  #play: Play = () => {};
  #count = 0;
  #release = Promise.withResolvers<void>();
  #tell = Promise.withResolvers<void>();

  rehearse(play: Play): void {
    this.#play = play;
    this.#count = 0;
    this.canceled.length = 0;
    this.#release = Promise.withResolvers();
    this.#tell = Promise.withResolvers();
  }

  /** Resolves when a run of the puppet is told to cancel. */
  get told(): Promise<void> {
    return this.#tell.promise;
  }

  /** Lets the waiting runs continue. */
  release(): void {
    this.#release.resolve();
  }

  execute = async (context: RequestContext, bus: ExecutionEventBus): Promise<void> => {
    const asked = context.userMessage.parts.map(({ content }) => String(content?.value)).join('');
    const say = new Script(context, bus);
    this.#count += 1;
    await this.#play({
      ...{ asked, say, bus, context },
      released: this.#release.promise,
      told: this.told,
      count: this.#count,
    });
  };

  cancelTask = async (taskId: string): Promise<void> => {
    this.canceled.push(taskId);
    this.#tell.resolve();
  };
}
