import type { PeerEvent } from '../core/agent.js';
import type { Artifact } from '../core/message.js';
import type { Run } from '../core/run.js';
import { sayAnswer } from './turn.js';

export interface RelayOptions {
  readonly run: Run;
  readonly step: string;
  readonly agent: string;
  /** Its text is the user's answer as it comes; else it is only shown as what it does. */
  readonly live: boolean;
}

type PassedEvent = Exclude<PeerEvent, { type: 'end' }>;
type EndEvent = Extract<PeerEvent, { type: 'end' }>;

/** Hands what a peer does on to whoever watches this task, under the name of who does it. */
export class PeerRelay {
  readonly #options: RelayOptions;
  readonly #artifacts: string[] = [];
  #taskKnown: boolean;
  /** What stands in the answer through this relay. */
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

  /** Makes the user's answer whole: after a re-attachment the peer may have told only its end again. */
  finish(end: EndEvent): void {
    if (!this.#options.live || end.state !== 'completed') return;
    const text = end.text.trim() === '' ? `${this.#options.agent} finished without any text.` : end.text;
    if (text !== this.#text) this.#say(text, true, end.author);
  }

  /** A line for the model about what the user got beside the text; none when there was nothing. */
  delivered(): readonly string[] {
    return this.#artifacts.length === 0 ? [] : [`[delivered to the user: ${this.#artifacts.join(', ')}]`];
  }

  #say(text: string, replace: boolean, author: string): void {
    const afresh = replace || this.#text === undefined;
    this.#text = afresh ? text : this.#text + text;
    sayAnswer(this.#options.run, { text, replace: afresh, author });
  }

  #deliver(artifact: Artifact, author: string): void {
    const { run, step } = this.#options;
    const own: Artifact = { ...artifact, id: `${step}/${artifact.id}` };
    this.#artifacts.push(artifact.name ?? artifact.id);
    run.emit({ type: 'artifact', artifact: own, append: false }, author);
  }
}
