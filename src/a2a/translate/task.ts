import { isDeepStrictEqual } from 'node:util';
import type { Task } from '@a2a-js/sdk';
import { FORK } from '../../core/extensions.js';
import type { JsonObject } from '../../core/json.js';
import { textOf, textPart, type Artifact, type Message, type Part } from '../../core/message.js';
import { answerText } from '../../core/model.js';
import { endsText } from '../../core/activity.js';
import type { TaskEvent, TaskRecord, TextDelta } from '../../core/task.js';
import { isPlainText, toWireArtifact, toWireMessage, toWireState } from './content.js';
import { closingOf, withAuthor, textMessage, textArtifact } from './events.js';
import { keepAsked } from './asked.js';
import { Changes, wantsGeneration, withGeneration } from './generation.js';
import { marksMetadata, type TaskSnapshot } from './updates.js';

export interface TaskView {
  /** The number of newest messages to include; undefined for all. */
  readonly historyLength: number | undefined;
  readonly includeArtifacts: boolean;
  /** The extensions that the client asked for; undefined for all. */
  readonly asked?: ReadonlySet<string> | undefined;
}

/** The members of a task's record that the protocol's Task shows. */
export type TaskStatus = Pick<
  TaskRecord,
  'id' | 'contextId' | 'state' | 'statusMessage' | 'statusAt' | 'head'
>;

/**
 * Folds a task's journal into the protocol's Task: the messages of the caller and of the agents, and the artifacts with
 * their text joined. Takes one pass over the events.
 */
export class TaskFold {
  readonly #messages: (Message | Growing<Message>)[] = [];
  /** The messages that came as deltas, by their id. */
  #streamed: Map<string, Growing<Message>> | undefined;
  readonly #messagesById = new Map<string, Message>();
  readonly #artifacts = new Map<string, Growing<Artifact>>();
  readonly #continued = new Set<string>();
  /** The artifact whose text is being written, and its author. */
  #writing: { readonly id: string; readonly author: string } | undefined;
  /** The places in the history of texts that precede a call, by the artifact that holds the text until it starts again. */
  #before: Map<string, Growing<Message>> | undefined;
  readonly #changes = new Changes();
  /** The metadata of an executor's events. */
  #metadata: JsonObject = {};
  /** The facts in the end of the newest run. */
  #closing: ReturnType<typeof closingOf> | undefined;

  /** Adds the next event. `author` is the resolved author (requirements A1 and A2). */
  add(event: TaskEvent, author: string): void {
    const { body } = event;
    this.#changes.add(event);
    if ('metadata' in body) this.#metadata = { ...this.#metadata, ...body.metadata };
    switch (body.type) {
      case 'message':
        return this.#addMessage(body.message);
      case 'activity':
        if (body.activity.type === 'text')
          this.#messages.push(textMessage(event, author, body.activity.text));
        else if (endsText(body.activity)) this.#endText(event, author);
        return;
      case 'turn-start':
      case 'question':
        return this.#endText(event, author);
      case 'turn-end': {
        const text = body.stopReason === 'function-calls' ? answerText(body.content).trim() : '';
        if (text === '') return;
        this.#messages.push(textMessage(event, author, text));
        this.#writing = undefined;
        return;
      }
      case 'text-delta':
        if (!body.isMessage) return this.#addText(body, author);
        return this.#openMessage(event, author, body).addText(body.text);
      case 'artifact':
        return this.#open(withAuthor(body.artifact, author), !body.append).add(body.artifact);
      case 'run-start':
        this.#closing = undefined;
        return;
      case 'fork':
        this.#metadata = { ...this.#metadata, [FORK]: { taskId: body.taskId, seq: body.seq } };
        return;
      case 'status':
      case 'run-end':
        if (body.type === 'run-end') this.#closing = closingOf(body, author);
        if (body.message) this.#addMessage(withAuthor(body.message, author));
        return;
      default:
    }
  }

  /** The text of a message that came as deltas. */
  saidIn(messageId: string): string {
    return textOf(this.#streamed?.get(messageId)?.close().parts ?? []);
  }

  artifacts(): readonly Artifact[] {
    return [...this.#artifacts.values()].map((open) => open.close());
  }

  /** The task for a watcher in this process. */
  toSnapshot({ id: taskId, contextId, state, statusMessage: message, head: seq }: TaskStatus): TaskSnapshot {
    const artifacts = this.artifacts();
    return { type: 'task', taskId, contextId, seq, state, message, artifacts, ...this.#closing };
  }

  toTask(record: TaskStatus, view: TaskView): Task {
    const ids = { taskId: record.id, contextId: record.contextId };
    const artifacts = this.artifacts().map(toWireArtifact);
    const task = keepAsked(
      {
        id: record.id,
        contextId: record.contextId,
        status: {
          state: toWireState(record.state),
          message: record.statusMessage && toWireMessage(record.statusMessage, ids),
          timestamp: new Date(record.statusAt).toISOString(),
        },
        artifacts: view.includeArtifacts ? artifacts : [],
        history: this.#newest(view.historyLength).map((message) => toWireMessage(message, ids)),
        metadata: {
          ...this.#metadata,
          ...marksMetadata({ seq: record.head, ...this.#closing }),
        },
      },
      view.asked,
    );
    return withGeneration(task, wantsGeneration(view.asked) ? this.#changes.generation : undefined);
  }

  /** Ids of artifacts and messages that began before the first added event. */
  continued(): readonly string[] {
    return [...this.#continued];
  }

  /** Returns the newest messages. Walks from the end, so that a few of many cost little; leaves out empty streamed ones. */
  #newest(count = Infinity): readonly Message[] {
    const said: Message[] = [];
    for (let index = this.#messages.length - 1; index >= 0 && said.length < count; index -= 1) {
      const message = this.#messages[index]!;
      const closed = message instanceof Growing ? message.close() : message;
      if (!this.#streamed?.has(closed.id) || textOf(closed.parts).trim() !== '') said.push(closed);
    }
    return said.reverse();
  }

  /** A message that an executor repeats, such as the one it replies to, counts once. */
  #addMessage(message: Message): void {
    const known = this.#messagesById.get(message.id);
    if (known && isDeepStrictEqual(known.parts, message.parts)) return;
    this.#messagesById.set(message.id, message);
    this.#messages.push(message);
  }

  #openMessage(event: TaskEvent, author: string, { artifactId, replace }: TextDelta): Growing<Message> {
    const id = `${event.taskId}:${artifactId}`;
    const known = this.#streamed?.get(id);
    if (known) return replace ? known.restart() : known;
    if (!replace) this.#continued.add(id);
    const fresh = new Growing({ ...textMessage(event, author, ''), id });
    (this.#streamed ??= new Map()).set(id, fresh);
    this.#messages.push(fresh);
    return fresh;
  }

  #addText({ artifactId: id, text, replace }: TextDelta, author: string): void {
    const before = this.#before?.get(id);
    if (replace && text !== '') before?.addText(textOf(this.#artifacts.get(id)?.close().parts ?? []).trim());
    this.#before?.delete(id);
    this.#writing = { id, author };
    this.#open(textArtifact(id, '', author), replace).addText(text);
  }

  /** Keeps a place in the history for the author's text, which becomes a message there if the artifact starts again. */
  #endText(event: TaskEvent, author: string): void {
    if (this.#writing?.author !== author) return;
    const message = new Growing(textMessage(event, author, ''));
    (this.#streamed ??= new Map()).set(message.close().id, message);
    this.#messages.push(message);
    (this.#before ??= new Map()).set(this.#writing.id, message);
    this.#writing = undefined;
  }

  #open(artifact: Artifact, replace: boolean): Growing<Artifact> {
    const known = this.#artifacts.get(artifact.id);
    if (known && !replace) return known;
    if (replace) this.#continued.delete(artifact.id);
    else this.#continued.add(artifact.id);
    const fresh = new Growing(artifact);
    this.#artifacts.set(artifact.id, fresh);
    return fresh;
  }
}

/** An artifact or message that still grows: consecutive texts are collected and joined once. */
class Growing<Whole extends Artifact | Message> {
  #head: Whole;
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

  /** Plain text without metadata may be continued by later text. A chunk may also name or describe the artifact. */
  add({ parts, ...head }: Artifact): void {
    const metadata = { ...this.#head.metadata, ...head.metadata };
    this.#head = { ...this.#head, ...head, metadata };
    for (const part of parts) this.#segments.push(isPlainText(part) ? [part.text] : part);
  }

  close(): Whole {
    const parts = this.#segments.map((segment) =>
      Array.isArray(segment) ? textPart(segment.join('')) : segment,
    );
    return { ...this.#head, parts };
  }
}
