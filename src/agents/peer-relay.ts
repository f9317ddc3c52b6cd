import type { PeerEvent } from '../core/agent.js';
import type { Artifact } from '../core/message.js';
import type { Run } from '../core/run.js';
import type { Activity } from '../core/task.js';
import { sayAnswer } from './loop.js';

export interface RelayOptions {
  readonly run: Run;
  readonly step: string;
  readonly agent: string;
  /** Whether the peer's text is the user's answer; else it is shown as activity. */
  readonly live: boolean;
}

type PassedEvent = Exclude<PeerEvent, { type: 'end' }>;
type TextDelta = Extract<PeerEvent, { type: 'text-delta' }>;
type Comment = { readonly id: string; readonly text: string; readonly replace?: boolean };
type EndEvent = Extract<PeerEvent, { type: 'end' }>;

/** Writes the events of a peer into this task, each under the name of its author. */
export class PeerRelay {
  readonly #options: RelayOptions;
  readonly #artifacts: string[] = [];
  /** How many turns each author has begun, for agents that report them. */
  readonly #turns = new Map<string, number>();
  /** The id of the message that the text of an artifact is part of, by artifact id. */
  readonly #messages = new Map<string, string>();
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
        this.#report(event.activity, event.author);
        break;
      case 'text-delta':
        if (live) this.#say(event.text, event.replace, event.author);
        else this.#comment({ ...event, id: this.#messageId(event) }, event.author);
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

  #report(activity: Activity, author: string): void {
    const { type } = activity;
    if (type === 'turn-start') this.#turns.set(author, (this.#turns.get(author) ?? 0) + 1);
    if (type === 'text' && activity.id !== undefined) this.#comment({ ...activity, id: activity.id }, author);
    else this.#options.run.emit({ type: 'activity', activity }, author);
  }

  /** Each turn of an agent starts its answer again: its text is then another message. */
  #messageId({ artifactId, replace, author }: TextDelta): string {
    const known = this.#messages.get(artifactId);
    if (known !== undefined && !replace) return known;
    const id = `${artifactId}.${this.#turns.get(author) ?? 0}`;
    this.#messages.set(artifactId, id);
    return id;
  }

  /** Writes text that is not the user's answer. */
  #comment({ id, text, replace = false }: Comment, author: string): void {
    const { run, step } = this.#options;
    run.emit({ type: 'text-delta', artifactId: `${step}/${id}`, text, replace, isMessage: true }, author);
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
