import type { Task } from '@a2a-js/sdk';
import type { JsonObject } from '../../core/json.js';
import type { Artifact, Message, Part } from '../../core/message.js';
import { isPlainText, textPart } from '../../core/message.js';
import { answerText } from '../../core/model.js';
import type { TaskEvent, TaskRecord } from '../../core/task.js';
import { toWireArtifact, toWireMessage, toWireState } from './content.js';
import { closingMetadata, signed, spoken, textArtifact } from './events.js';
import { cursorMetadata } from './extensions.js';

export interface TaskView {
  /** At most so many of the newest messages; undefined for all. */
  readonly historyLength: number | undefined;
  readonly includeArtifacts: boolean;
}

/**
 * Reads a task's journal into the protocol's Task: what the caller said, what agents said on the way,
 * and the artifacts with their text joined. Costs one pass over the events.
 */
export class TaskFold {
  readonly #messages: Message[] = [];
  readonly #artifacts = new Map<string, OpenArtifact>();
  readonly #continued = new Set<string>();
  /** Of the newest run, once it has ended. */
  #closing: JsonObject = {};

  /** `author` is the resolved one (requirements A1 and A2). Events come in order, each once. */
  add(event: TaskEvent, author: string): void {
    const { body } = event;
    switch (body.type) {
      case 'message':
        this.#messages.push(body.message);
        break;
      case 'activity':
        if (body.activity.type === 'text') this.#messages.push(spoken(event, author, body.activity.text));
        break;
      case 'turn-end': {
        const text = body.stopReason === 'function-calls' ? answerText(body.content).trim() : '';
        if (text !== '') this.#messages.push(spoken(event, author, text));
        break;
      }
      case 'text-delta':
        this.#open(textArtifact(body.artifactId, '', author), body.replace).addText(body.text);
        break;
      case 'artifact':
        this.#open(signed(body.artifact, author), !body.append).add(body.artifact.parts);
        break;
      case 'run-start':
        this.#closing = {};
        break;
      case 'run-end':
        this.#closing = closingMetadata(body, author);
        if (body.message) this.#messages.push(signed(body.message, author));
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
      history: newest(this.#messages, view.historyLength).map((message) => toWireMessage(message, place)),
      metadata: { ...cursorMetadata(record.head), ...this.#closing },
    };
  }

  /** Ids of artifacts that go on from entries before the first that was added. */
  continued(): readonly string[] {
    return [...this.#continued];
  }

  #open(artifact: Artifact, replace: boolean): OpenArtifact {
    const known = this.#artifacts.get(artifact.id);
    if (known && !replace) return known;
    if (replace) this.#continued.delete(artifact.id);
    else this.#continued.add(artifact.id);
    const fresh = new OpenArtifact(artifact);
    this.#artifacts.set(artifact.id, fresh);
    return fresh;
  }
}

/** An artifact that still grows: text that follows text is kept in pieces and joined once. */
class OpenArtifact {
  readonly #head: Artifact;
  readonly #pieces: (Part | string[])[] = [];

  constructor(head: Artifact) {
    this.#head = head;
  }

  addText(text: string): void {
    const last = this.#pieces.at(-1);
    if (Array.isArray(last)) last.push(text);
    else this.#pieces.push([text]);
  }

  /** Text that says nothing more about itself may be continued by later text. */
  add(parts: readonly Part[]): void {
    for (const part of parts) this.#pieces.push(isPlainText(part) ? [part.text] : part);
  }

  close(): Artifact {
    const parts = this.#pieces.map((piece) => (Array.isArray(piece) ? textPart(piece.join('')) : piece));
    return { ...this.#head, parts };
  }
}

function newest(messages: readonly Message[], count: number | undefined): readonly Message[] {
  if (count === undefined) return messages;
  return count === 0 ? [] : messages.slice(-count);
}
