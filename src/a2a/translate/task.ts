import type { Task } from '@a2a-js/sdk';
import type { JsonObject } from '../../core/json.js';
import type { Artifact, Message, Part } from '../../core/message.js';
import { isPlainText, textOf, textPart } from '../../core/message.js';
import { answerText } from '../../core/model.js';
import type { TaskEvent, TaskRecord } from '../../core/task.js';
import { toWireArtifact, toWireMessage, toWireState } from './content.js';
import { closingMetadata, withAuthor, textMessage, textArtifact } from './events.js';
import { cursorMetadata } from './extensions.js';

export interface TaskView {
  /** The number of newest messages to include; undefined for all. */
  readonly historyLength: number | undefined;
  readonly includeArtifacts: boolean;
}

type TextDelta = Extract<TaskEvent['body'], { type: 'text-delta' }>;

/**
 * Folds a task's journal into the protocol's Task: the messages of the caller and of the agents, and the artifacts with
 * their text joined. Takes one pass over the events.
 */
export class TaskFold {
  readonly #messages: (Message | Open<Message>)[] = [];
  /** The messages that came as deltas, by their id. */
  readonly #streamed = new Map<string, Open<Message>>();
  readonly #artifacts = new Map<string, Open<Artifact>>();
  readonly #continued = new Set<string>();
  /** The final metadata of the newest run, once it has ended. */
  #closing: JsonObject = {};

  /** Adds the next event. `author` is the resolved author (requirements A1 and A2). */
  add(event: TaskEvent, author: string): void {
    const { body } = event;
    switch (body.type) {
      case 'message':
        this.#messages.push(body.message);
        break;
      case 'activity':
        if (body.activity.type === 'text')
          this.#messages.push(textMessage(event, author, body.activity.text));
        break;
      case 'turn-end': {
        const text = body.stopReason === 'function-calls' ? answerText(body.content).trim() : '';
        if (text !== '') this.#messages.push(textMessage(event, author, text));
        break;
      }
      case 'text-delta':
        if (body.isMessage) this.#openMessage(event, author, body).addText(body.text);
        else this.#open(textArtifact(body.artifactId, '', author), body.replace).addText(body.text);
        break;
      case 'artifact':
        this.#open(withAuthor(body.artifact, author), !body.append).add(body.artifact.parts);
        break;
      case 'run-start':
        this.#closing = {};
        break;
      case 'run-end':
        this.#closing = closingMetadata(body, author);
        if (body.message) this.#messages.push(withAuthor(body.message, author));
        break;
      default:
        break;
    }
  }

  toTask(record: TaskRecord, view: TaskView): Task {
    const place = { taskId: record.id, contextId: record.contextId };
    const artifacts = [...this.#artifacts.values()].map((open) => toWireArtifact(open.close()));
    return {
      id: record.id,
      contextId: record.contextId,
      status: {
        state: toWireState(record.state),
        message: record.statusMessage && toWireMessage(record.statusMessage, place),
        timestamp: new Date(record.statusAt).toISOString(),
      },
      artifacts: view.includeArtifacts ? artifacts : [],
      history: this.#newest(view.historyLength).map((message) => toWireMessage(message, place)),
      metadata: { ...cursorMetadata(record.head), ...this.#closing },
    };
  }

  /** Ids of artifacts and messages that began before the first added event. */
  continued(): readonly string[] {
    return [...this.#continued];
  }

  #newest(count: number | undefined): readonly Message[] {
    if (count === 0) return [];
    const messages = this.#messages.map((message) => (message instanceof Open ? message.close() : message));
    const said = messages.filter(({ id, parts }) => !this.#streamed.has(id) || textOf(parts).trim() !== '');
    return count === undefined ? said : said.slice(-count);
  }

  #openMessage(event: TaskEvent, author: string, { artifactId, replace }: TextDelta): Open<Message> {
    const id = `${event.taskId}:${artifactId}`;
    const known = this.#streamed.get(id);
    if (known) return replace ? known.restart() : known;
    if (!replace) this.#continued.add(id);
    const fresh = new Open({ ...textMessage(event, author, ''), id });
    this.#streamed.set(id, fresh);
    this.#messages.push(fresh);
    return fresh;
  }

  #open(artifact: Artifact, replace: boolean): Open<Artifact> {
    const known = this.#artifacts.get(artifact.id);
    if (known && !replace) return known;
    if (replace) this.#continued.delete(artifact.id);
    else this.#continued.add(artifact.id);
    const fresh = new Open(artifact);
    this.#artifacts.set(artifact.id, fresh);
    return fresh;
  }
}

/** An artifact or message that still grows: consecutive texts are collected and joined once. */
class Open<Whole extends Artifact | Message> {
  readonly #head: Whole;
  #segments: (Part | string[])[] = [];

  constructor(head: Whole) {
    this.#head = head;
  }

  /** Drops all content. */
  restart(): this {
    this.#segments = [];
    return this;
  }

  addText(text: string): void {
    const last = this.#segments.at(-1);
    if (Array.isArray(last)) last.push(text);
    else this.#segments.push([text]);
  }

  /** Plain text without metadata may be continued by later text. */
  add(parts: readonly Part[]): void {
    for (const part of parts) this.#segments.push(isPlainText(part) ? [part.text] : part);
  }

  close(): Whole {
    const parts = this.#segments.map((segment) =>
      Array.isArray(segment) ? textPart(segment.join('')) : segment,
    );
    return { ...this.#head, parts };
  }
}
