import type { PeerEvent } from '../core/agent.js';
import type { Artifact } from '../core/message.js';
import type { Run } from '../core/run.js';
import { sayAnswer } from './loop.js';

export interface RelayOptions {
  readonly run: Run;
  readonly step: string;
  readonly agent: string;
  /** Whether the peer's text is the user's answer; else it is shown as activity. */
  readonly live: boolean;
}

type PassedEvent = Exclude<PeerEvent, { type: 'end' }>;
type EndEvent = Extract<PeerEvent, { type: 'end' }>;

/** Writes the events of a peer into this task, each under the name of its author. */
export class PeerRelay {
  readonly #options: RelayOptions;
  readonly #artifacts: string[] = [];
  #taskKnown: boolean;
  /** The text of the answer that this relay has written so far. */
  #text: string | undefined;

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#taskKnown = options.run.recorded(options.step)?.childTaskId !== undefined;
  }

  pass(event: PassedEvent): void {
    const { run, step, live } = this.#options;
    switch (event.type) {
      case 'task':
        if (!this.#taskKnown) run.emit({ type: 'delegation-task', step, taskId: event.taskId });
        this.#taskKnown = true;
        break;
      case 'activity':
        run.emit({ type: 'activity', activity: event.activity }, event.author);
        break;
      case 'text-delta':
        if (live) this.#say(event.text, event.replace, event.author);
        else run.emit({ type: 'activity', activity: { type: 'text', text: event.text } }, event.author);
        break;
      case 'artifact':
        this.#deliver(event.artifact, event.author);
        break;
    }
  }

  /** Completes the user's answer: after a re-attachment the peer may have sent only its end again. */
  finish(end: EndEvent): void {
    if (!this.#options.live || end.state !== 'completed') return;
    const text = end.text.trim() === '' ? `${this.#options.agent} finished without any text.` : end.text;
    if (text !== this.#text) this.#say(text, true, end.author);
  }

  /** A line for the model that names the artifacts which the user got; empty without artifacts. */
  delivered(): readonly string[] {
    return this.#artifacts.length === 0 ? [] : [`[delivered to the user: ${this.#artifacts.join(', ')}]`];
  }

  #say(text: string, replace: boolean, author: string): void {
    const restart = replace || this.#text === undefined;
    this.#text = restart ? text : this.#text + text;
    sayAnswer(this.#options.run, { text, replace: restart, author });
  }

  #deliver(artifact: Artifact, author: string): void {
    const { run, step } = this.#options;
    const own: Artifact = { ...artifact, id: `${step}/${artifact.id}` };
    this.#artifacts.push(artifact.name ?? artifact.id);
    run.emit({ type: 'artifact', artifact: own, append: false }, author);
  }
}
