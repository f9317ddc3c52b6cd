import type { EventBody } from '../core/task.js';
import { isInterrupted } from '../core/task.js';

/** A task of a peer that may still go on, or waits for a person. */
export interface OpenDelegation {
  readonly agent: string;
  /** The id of the message that asked for it. */
  readonly messageId: string;
  /** Undefined while the peer has not named it: it may have taken the message all the same. */
  readonly taskId: string | undefined;
}

/** What a task asked of peers and what has not ended yet, as far as its log says. */
export class OpenDelegations {
  readonly #byStep = new Map<string, OpenDelegation>();
  /** Under the task's id, or the message's while there is none: a person's answer is a step of the same task. */
  readonly #open = new Map<string, OpenDelegation>();

  /** Entries come in order; one that was added before changes nothing. */
  add(body: EventBody): void {
    switch (body.type) {
      case 'delegation-start':
        if (this.#byStep.has(body.step)) break;
        this.#set(body.step, { agent: body.agent, messageId: body.key, taskId: undefined });
        break;
      case 'delegation-task': {
        const asked = this.#byStep.get(body.step);
        if (!asked || asked.taskId !== undefined) break;
        this.#open.delete(asked.messageId);
        this.#set(body.step, { ...asked, taskId: body.taskId });
        break;
      }
      case 'delegation-end': {
        const asked = this.#byStep.get(body.step);
        if (!asked) break;
        if (asked.taskId === undefined) this.#open.delete(asked.messageId);
        else if (!isInterrupted(body.state)) this.#open.delete(asked.taskId);
        break;
      }
      default:
        break;
    }
  }

  list(): readonly OpenDelegation[] {
    return [...this.#open.values()];
  }

  #set(step: string, delegation: OpenDelegation): void {
    this.#byStep.set(step, delegation);
    this.#open.set(delegation.taskId ?? delegation.messageId, delegation);
  }
}
