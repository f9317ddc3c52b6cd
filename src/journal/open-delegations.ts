import type { EventBody } from '../core/task.js';
import { isInterrupted } from '../core/task.js';

/** A task of a peer that may still go on, or waits for a person. */
export interface OpenDelegation {
  readonly agent: string;
  readonly taskId: string;
}

/** What a task asked of peers and what has not ended yet, as far as its log says. */
export class OpenDelegations {
  readonly #agents = new Map<string, string>();
  readonly #tasks = new Map<string, string>();
  readonly #open = new Map<string, OpenDelegation>();

  /** Entries come in order; one that was added before changes nothing. */
  add(body: EventBody): void {
    switch (body.type) {
      case 'delegation-start':
        this.#agents.set(body.step, body.agent);
        break;
      case 'delegation-task':
        this.#tasks.set(body.step, body.taskId);
        this.#open.set(body.taskId, { agent: this.#agents.get(body.step) ?? '', taskId: body.taskId });
        break;
      case 'delegation-end':
        if (!isInterrupted(body.state)) this.#open.delete(this.#tasks.get(body.step) ?? '');
        break;
      default:
        break;
    }
  }

  list(): readonly OpenDelegation[] {
    return [...this.#open.values()];
  }
}
