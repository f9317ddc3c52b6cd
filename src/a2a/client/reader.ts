import type { PeerEvent } from '../../core/agent.js';
import { LangoError } from '../../core/errors.js';
import { hashJson } from '../../core/canonical-json.js';
import { isJsonObject, type JsonObject } from '../../core/json.js';
import { textOf, type Artifact, type Message, type Part } from '../../core/message.js';
import { NO_USAGE, type Usage } from '../../core/model.js';
import { isInterrupted, isTerminal, type Question, type TaskState } from '../../core/task.js';
import { ForeignApprovals, dataIn, questionsOf, textWithData, typedQuestions } from './foreign-question.js';
import { authorIn, usageIn, type AuthorMark } from '../translate/extensions.js';
import type {
  ArtifactUpdate,
  ReplyUpdate,
  StatusUpdate,
  TaskSnapshot,
  TaskUpdate,
} from '../translate/updates.js';
import { CLIENT_LIMITS, type WatchLimits } from './limits.js';
import { SeenArtifact, liveText, sizeOf, splitParts, toArtifact, type PeerEventOf } from './seen-artifact.js';

/** The events that a watcher of a task receives: the peer's events, and each change of the task's state. */
export type ClientEvent = PeerEvent | { readonly type: 'status'; readonly state: TaskState };
export type EndEvent = PeerEventOf<'end'>;

export interface ReaderOptions {
  /** The author of events that name none. */
  readonly agent: string;
  /** The ids of the task, when they are known. An event with other ids is an error. */
  readonly taskId?: string | undefined;
  readonly contextId?: string | undefined;
  /** Our own id of the conversation, when the agent may have another one: its first event then names it. */
  readonly ourContextId?: string | undefined;
  /** Whether a question of the task just got a reply: the first snapshot may still show that question. */
  readonly isReply?: boolean;
  /** Whether the agent runs on another server: all of its output is text from outside. */
  readonly isRemote?: boolean;
  /** Whether a task that needs authorization is followed out of it. Default: false, it ends what is read. */
  readonly followsAuthorization?: boolean;
  /** Gives the local name of an author that the sender names. Default: the same name. */
  readonly rename?: (author: string) => string;
  /** Default: `CLIENT_LIMITS`. */
  readonly limits?: Pick<WatchLimits, 'events' | 'characters'>;
}

/** The longest id of a task, a context or an artifact, in characters. */
const MAX_ID = 1_000;
/** The most text of a peer's `working` messages that is kept for a question without a message of its own. */
const MAX_SAID = 32 * 1024;
const LEFT_OUT = '[Earlier text is left out.]\n';

/**
 * Turns what an agent sends about one task, as stream events or snapshots, into events without repeats. Trusts no
 * sender: `read` throws `invalid-agent-response` when ids change or are too long, and `too-large` past the limits.
 */
export class TaskReader {
  readonly #options: ReaderOptions;
  readonly #agent: string;
  readonly #rename: (author: string) => string;
  readonly #isRemote: boolean;
  readonly #limits: Pick<WatchLimits, 'events' | 'characters'>;
  readonly #artifacts = new Map<string, SeenArtifact>();
  /** The texts of the messages, by id. */
  readonly #seenMessages = new Map<string, string>();
  #taskId: string | undefined;
  #contextId: string | undefined;
  #mayOwnContext: boolean;
  #isAnnounced = false;
  #awaitsUpdate: boolean;
  #pendingEnd: EndEvent | undefined;
  /** The event that completed the task without an answer. Some agents send the answer after it. */
  #completed: (() => EndEvent) | undefined;
  /** The texts of `working` messages. Some agents ask in them, and then wait with a message without text. */
  #said = '';
  readonly #approvals = new ForeignApprovals();
  #state: TaskState | undefined;
  #cursor: number | undefined;
  #events = 0;
  #characters = 0;
  #usage: Usage = NO_USAGE;
  #hasEnded = false;

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#agent = options.agent;
    this.#taskId = options.taskId;
    this.#contextId = options.contextId;
    this.#mayOwnContext = options.ourContextId !== undefined;
    this.#awaitsUpdate = options.isReply ?? false;
    this.#rename = options.rename ?? ((author) => author);
    this.#isRemote = options.isRemote ?? true;
    this.#limits = options.limits ?? CLIENT_LIMITS;
  }

  get taskId(): string | undefined {
    return this.#taskId;
  }

  /** The `seq` of the last event, for peers that number their events. */
  get cursor(): number | undefined {
    return this.#cursor;
  }

  /** Whether the `end` was returned. `read` must not be called after it. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Call it with each update. One that is undefined says nothing, and counts as an event. */
  read(update: TaskUpdate | undefined): readonly ClientEvent[] {
    if (update?.isLive) return liveText(update, (mark) => this.#authorOf(mark, undefined));
    if (++this.#events > this.#limits.events) throw tooLarge(`more than ${this.#limits.events} events`);
    this.#pendingEnd = undefined;
    if (update === undefined) return [];
    const failure = this.#failureOfOtherTask(update);
    if (failure) return [failure];
    const before = this.#identify(update);
    this.#cursor = update.seq ?? this.#cursor;
    switch (update.type) {
      case 'task':
        return [...before, ...this.#readTask(update)];
      case 'message':
        return this.#isAnnounced ? this.#readMessageOfTask(update) : this.#readMessage(update.message);
      case 'status':
        this.#awaitsUpdate = false;
        return [...before, ...this.#readStatus(update)];
      case 'artifact':
        this.#awaitsUpdate = false;
        return [...before, ...this.#readArtifactUpdate(update)];
    }
  }

  /** Call it when the stream is over. Returns the end that was held back because a later event could have replaced it. */
  settle(): EndEvent | undefined {
    const end = this.#pendingEnd ?? this.#completed?.();
    if (end) this.#hasEnded = true;
    return end;
  }

  /** The end of a task that still waits for authorization; undefined for other tasks. */
  get authorization(): EndEvent | undefined {
    return this.#pendingEnd?.state === 'auth-required' ? this.#pendingEnd : undefined;
  }

  /** Returns the end for a task that is no longer watched. */
  giveUp(state: EndEvent['state'], text: string): EndEvent {
    this.#hasEnded = true;
    if (this.#completed && !this.#hasContent()) return this.#completed();
    const rest = { author: this.#agent, questions: [], usage: this.#usage, fromOutside: this.#isRemote };
    return { type: 'end', state, text, ...rest, ...this.#ownContext() };
  }

  #identify({ type, taskId, contextId }: TaskUpdate): readonly ClientEvent[] {
    this.#contextId = sameId('context', this.#mayOwnContext ? undefined : this.#contextId, contextId);
    this.#contextId ??= this.#options.contextId;
    if (contextId !== '') this.#mayOwnContext = false;
    if (type === 'message') return [];
    this.#taskId = sameId('task', this.#taskId, taskId);
    if (this.#taskId === undefined) throw invalid('The agent sent an event without a task id.');
    if (this.#isAnnounced) return [];
    this.#isAnnounced = true;
    return [{ type: 'task', taskId: this.#taskId }];
  }

  /** Returns the end for a failure that is reported under another task id of the context, as stock servers of 0.3 do. */
  #failureOfOtherTask(update: TaskUpdate): EndEvent | undefined {
    if (update.type !== 'task' && update.type !== 'status') return undefined;
    const { taskId, contextId, state } = update;
    const isOther = this.#taskId !== undefined && taskId !== '' && taskId !== this.#taskId;
    if (!isOther || contextId === '' || contextId !== this.#contextId) return undefined;
    return state === 'failed' || state === 'rejected' ? this.#end(state, update) : undefined;
  }

  #readTask(task: TaskSnapshot): readonly ClientEvent[] {
    const artifacts = task.artifacts.flatMap((artifact) => this.#readSnapshot(artifact));
    const status = this.#readStatus(task);
    const last = status.at(-1);
    if (this.#awaitsUpdate && last?.type === 'end' && isInterrupted(last.state)) {
      this.#hasEnded = false;
      this.#pendingEnd = last;
      return [...artifacts, ...status.slice(0, -1)];
    }
    return [...artifacts, ...status];
  }

  /** Reads a message that was sent instead of a task. It is the whole answer. */
  #readMessage(message: Message): readonly ClientEvent[] {
    const { metadata } = message;
    const about = { mark: authorIn(metadata), usage: usageIn(metadata) };
    return [...this.#readSnapshot(toArtifact(message)), this.#end('completed', about)];
  }

  /** Reads a message in the stream of its task: the next piece of the answer. Agno streams its text so. */
  #readMessageOfTask({ message, taskId }: ReplyUpdate): readonly ClientEvent[] {
    sameId('task', this.#taskId, taskId);
    const { id, parts, metadata } = message;
    const { text, files } = splitParts(parts);
    this.#count(text.length + sizeOf(files));
    const isThought = metadata?.['agno_content_category'] === 'reasoning';
    if (isThought) return [{ type: 'activity', author: this.#agent, activity: { type: 'text', text } }];
    const seen = this.#artifact({ id, parts, ...(metadata && { metadata }) });
    return [
      ...(text === '' ? [] : [seen.addText(text, seen.text === '')]),
      ...(files.length === 0 ? [] : [seen.addFiles(files, toArtifact(message))]),
    ];
  }

  #readStatus(update: TaskSnapshot | StatusUpdate): readonly ClientEvent[] {
    const { state, message } = update;
    if (!state) throw invalid('The agent sent a task without a state of A2A 1.0.');
    const events: ClientEvent[] = state === this.#state ? [] : [{ type: 'status', state }];
    const { followsAuthorization: follows = false } = this.#options;
    const isFollowed = follows && events.length > 0;
    if (isFollowed && this.#state === 'auth-required')
      events.push({ type: 'authorization', author: this.#agent, waiting: undefined });
    this.#state = state;
    if (state === 'auth-required' && follows) {
      const waiting = this.#end(state, update);
      this.#pendingEnd = waiting;
      this.#hasEnded = false;
      return isFollowed ? [...events, { type: 'authorization', author: waiting.author, waiting }] : events;
    }
    if (isTerminal(state) || isInterrupted(state)) {
      // Some agents put their answer into the closing status instead of an artifact.
      const isAnswer = !this.#hasAnswer() || this.#artifacts.has(message?.id ?? '');
      const answer = state === 'completed' && isAnswer ? message : undefined;
      const answerEvents = answer ? this.#readSnapshot(toArtifact(answer)) : [];
      if (state === 'completed' && !this.#hasContent()) {
        this.#completed = () => this.#end(state, update);
        return [...events, ...answerEvents];
      }
      return [...events, ...answerEvents, this.#end(state as EndEvent['state'], update)];
    }
    return [...events, ...this.#readActivity(update)];
  }

  #readActivity({ message, mark, metadata, from }: TaskSnapshot | StatusUpdate): readonly ClientEvent[] {
    const isRepeat = message !== undefined && message.id !== '' && this.#seenMessages.has(message.id);
    if (message && !isRepeat) {
      this.#count(message.id.length);
      this.#seenMessages.set(message.id, splitParts(message.parts).text);
    }
    const author = this.#authorOf(mark, message?.metadata);
    if (isRepeat) return this.#readGrowth(message);
    if (mark?.activity) return [{ type: 'activity', author, activity: mark.activity, from }];
    const parts = message?.parts ?? [];
    const text = textWithData(parts);
    this.#approvals.read(parts);
    this.#count(text.length);
    this.#say(text, metadata);
    return text === '' ? [] : [{ type: 'activity', author, activity: { type: 'text', text } }];
  }

  /** Reads a message that comes again. With more text it is the answer as it grows: VoltAgent streams it so. */
  #readGrowth(message: Message): readonly ClientEvent[] {
    const before = this.#seenMessages.get(message.id)!;
    const { text } = splitParts(message.parts);
    if (text === before || !text.startsWith(before)) return [];
    this.#seenMessages.set(message.id, text);
    return this.#readSnapshot(toArtifact(message));
  }

  #say(text: string, metadata: unknown): void {
    // Gemini CLI sends one message for each chunk of text.
    const isChunk = isJsonObject(metadata) && 'coderAgent' in metadata;
    const gap = this.#said === '' || text === '' || isChunk ? '' : '\n';
    const said = this.#said + gap + text;
    this.#said = said.length > MAX_SAID ? `${LEFT_OUT}${said.slice(-MAX_SAID)}` : said;
  }

  #readArtifactUpdate(update: ArtifactUpdate): readonly ClientEvent[] {
    const { artifact, append, metadata, from } = update;
    const seen = this.#artifact(artifact, metadata);
    if (!append) seen.files = [];
    const { text, files } = splitParts(artifact.parts);
    this.#count(text.length + sizeOf(files));
    const events: ClientEvent[] = [];
    // The entries hold the same content only when it is one text, or when nothing but files was sent, and all at once.
    const isWhole = files.length === artifact.parts.length ? !append : artifact.parts.length === 1;
    const origin = from && isWhole ? { from } : undefined;
    if (text !== '') events.push({ ...seen.addText(text, !append), ...origin });
    else if (!append && seen.text !== '') events.push(seen.addText('', true));
    if (files.length > 0) events.push({ ...seen.addFiles(files, artifact), ...origin });
    return events;
  }

  /** Reads a whole artifact, and returns events for its new content only. */
  #readSnapshot(artifact: Artifact): readonly ClientEvent[] {
    const seen = this.#artifact(artifact);
    const { text, files } = splitParts(artifact.parts);
    const events: ClientEvent[] = [];
    if (text !== seen.text) {
      const continues = text.startsWith(seen.text);
      const news = continues ? text.slice(seen.text.length) : text;
      this.#count(news.length);
      events.push(seen.addText(news, !continues || seen.text === ''));
    }
    if (files.length > 0 && hashJson(files) !== hashJson(seen.files)) {
      this.#count(sizeOf(files));
      seen.files = [];
      events.push(seen.addFiles(files, artifact));
    }
    return events;
  }

  #artifact({ id, metadata }: Artifact, ofUpdate?: JsonObject): SeenArtifact {
    const known = this.#artifacts.get(id);
    const seen = known ?? new SeenArtifact(withinLimit('artifact', id));
    if (!known) {
      this.#count(id.length);
      this.#artifacts.set(id, seen);
    }
    seen.author = this.#authorOf(authorIn(metadata), ofUpdate);
    return seen;
  }

  /** The author of the mark, else of the one in the metadata; else the agent itself. */
  #authorOf(mark: AuthorMark | undefined, metadata: unknown): string {
    const { author } = mark ?? authorIn(metadata) ?? {};
    return author === undefined ? this.#agent : this.#rename(author);
  }

  #hasContent(): boolean {
    return [...this.#artifacts.values()].some(({ text, files }) => text !== '' || files.length > 0);
  }

  #hasAnswer(): boolean {
    return [...this.#artifacts.values()].some(({ text }) => text !== '');
  }

  #end(
    state: EndEvent['state'],
    { message, mark, usage = NO_USAGE }: Pick<StatusUpdate, 'message' | 'mark' | 'usage'>,
  ): EndEvent {
    this.#hasEnded = true;
    this.#usage = usage;
    const author = this.#authorOf(mark, message?.metadata);
    const parts = message?.parts ?? [];
    const reason = isInterrupted(state) ? textOf(parts) : textWithData(parts);
    const waiting = state === 'input-required' ? this.#said.trim() : '';
    const answer = [...this.#artifacts.values()].flatMap(({ text }) => (text === '' ? [] : [text]));
    return {
      type: 'end',
      state,
      text:
        state === 'completed'
          ? answer.join('\n\n') || reason
          : reason || waiting || `${author} ended as ${state}.`,
      author,
      questions: isInterrupted(state) ? this.#questions(state, parts, author) : [],
      usage: this.#usage,
      // Agents of this server set the mark. Without a mark the text counts as from outside.
      fromOutside: this.#isRemote || (mark?.fromOutside ?? true),
      ...this.#ownContext(),
    };
  }

  #ownContext(): Pick<EndEvent, 'peerContextId'> {
    const [id, ours] = [this.#contextId, this.#options.ourContextId];
    return ours === undefined || id === undefined || id === ours ? {} : { peerContextId: id };
  }

  #questions(state: TaskState, parts: readonly Part[], author: string): readonly Question[] {
    const typed = typedQuestions(parts);
    if (typed.length > 0 || state !== 'input-required')
      return typed.map((question) => ({ ...question, author: this.#rename(question.author) }));
    // LangGraph asks with data in an artifact.
    const said = this.#said || dataIn([...this.#artifacts.values()].at(-1)?.files ?? []);
    return questionsOf({ taskId: this.#taskId, author, parts, said, approvals: this.#approvals });
  }

  #count(characters: number): void {
    this.#characters += characters;
    const { characters: limit } = this.#limits;
    if (this.#characters > limit) throw tooLarge(`more than ${limit} characters`);
  }
}

function sameId(kind: string, known: string | undefined, given: string): string | undefined {
  if (given === '') return known;
  if (known === undefined || known === given) return withinLimit(kind, given);
  throw invalid(`The agent changed the ${kind} id in the middle of its answer.`);
}

function withinLimit(kind: string, id: string): string {
  if (id.length > MAX_ID) throw invalid(`The agent sent an id of its ${kind} that is too long.`);
  return id;
}

function invalid(message: string): LangoError {
  return new LangoError('invalid-agent-response', message);
}

function tooLarge(what: string): LangoError {
  return new LangoError('too-large', `The agent sent ${what}.`);
}
