import type { PeerEvent } from '../core/agent.js';
import { LangoError } from '../core/errors.js';
import { defined, type Json } from '../core/json.js';
import { textPart, type Artifact } from '../core/message.js';
import type { Run } from '../core/run.js';
import { partOf } from '../core/origin.js';
import { endsText } from '../core/activity.js';
import type { EventBody, Question } from '../core/task.js';
import { counted, shorten } from '../core/text.js';
import { sayAnswer } from './model-turn.js';

export interface RelayOptions {
  readonly run: Run;
  readonly step: string;
  readonly agent: string;
  /** Whether the peer's text is the user's answer. Any other text is shown as activity. */
  readonly isAnswer: boolean;
  /** The largest journal entry, in bytes. */
  readonly entryBytes: number;
  /** The number of delegations that share the journal of this task. */
  readonly sharedBy: number;
  /** The texts that were written before a reply to the peer: its task is then told again from its newest text on. */
  readonly told: ReadonlySet<string>;
}

type EventOf<Type extends PeerEvent['type']> = Extract<PeerEvent, { type: Type }>;
type TextDelta = EventOf<'text-delta'>;
type Chunk = Pick<TextDelta, 'text' | 'from'>;
type Comment = Chunk & { readonly id: string; readonly replace?: boolean; readonly author: string };

const NOTHING_TOLD: ReadonlySet<string> = new Set();

/** Opens the relay of one exchange with a peer. After a reply, it repeats no text that the task has already. */
export async function openRelay(options: Omit<RelayOptions, 'told'>, isReply: boolean): Promise<PeerRelay> {
  const { run } = options;
  const [, log = []] = (isReply && (await run.readTask(run.task.id))) || [];
  const texts = new Map<string, string>();
  for (const { body } of log) {
    if (body.type !== 'text-delta') continue;
    const before = body.replace ? '' : (texts.get(body.artifactId) ?? '');
    texts.set(body.artifactId, before + body.text);
  }
  return new PeerRelay({ ...options, told: new Set(texts.values()) });
}

/** The most bytes that one delegation adds to the journal of its task. */
const MAX_RELAYED_BYTES = 16 * 1024 * 1024;
/** The share of an entry that open questions may fill: the end of a run holds their text up to three times. */
const QUESTION_SHARE = 0.3;
/** The share of an entry that stays free for the members that the journal adds. */
const MARGIN_SHARE = 1 / 16;
/** JSON writes one UTF-16 code unit with at most six bytes. The rest of an entry is for its other fields. */
const BYTES_PER_UNIT = 8;
/** The most artifacts that the result names, and the longest name in characters. */
const MAX_NAMES = 20;
const MAX_NAME_LENGTH = 100;

/**
 * Writes the events of a peer into this task, each under the name of its author. `pass` and `finish` throw `too-large` for
 * an event that the journal of the task cannot hold, and before the peer's events take the room that the task itself needs.
 */
export class PeerRelay {
  readonly #options: RelayOptions;
  readonly #artifacts: string[] = [];
  /** The data of each artifact, by its id. */
  readonly #data = new Map<string, readonly Json[]>();
  /** The number of turns that each author has begun, for agents that report them. */
  readonly #turns = new Map<string, number>();
  /** The ids of the messages that collect the text of artifacts, by artifact id. */
  readonly #messages = new Map<string, string>();
  /** The most events of this peer while the room for events is less than `#scarceRoom`. */
  readonly #share: number;
  /** Half of the room for events at the start of the delegation. */
  readonly #scarceRoom: number;
  #events = 0;
  #bytes = 0;
  #taskKnown: boolean;
  #told: ReadonlySet<string>;
  /** The text of the answer that this relay has written so far. */
  #text: string | undefined;
  #hasPreview = false;

  constructor(options: RelayOptions) {
    const { run, step, sharedBy, told } = options;
    this.#told = told;
    this.#options = options;
    this.#scarceRoom = Math.floor(run.room / 2);
    this.#share = Math.floor(this.#scarceRoom / sharedBy);
    this.#taskKnown = run.recorded(step)?.childTaskId !== undefined;
  }

  pass(event: Exclude<PeerEvent, EventOf<'end' | 'authorization'>>): void {
    const { step, isAnswer, agent } = this.#options;
    if ('isLive' in event && event.isLive) {
      this.#preview(event);
      return;
    }
    switch (event.type) {
      case 'away': {
        const parts = [textPart(`Waiting for ${agent}: ${event.reason}`)];
        const message = { id: `${step}/away`, role: 'agent', parts } as const;
        this.#emit({ type: 'status', state: 'working', message });
        break;
      }
      case 'task':
        if (!this.#taskKnown) this.#emit({ type: 'delegation-task', step, taskId: event.taskId });
        this.#taskKnown = true;
        break;
      case 'activity':
        this.#report(event);
        break;
      case 'text-delta':
        if (event.replace && this.#told.has(event.text)) this.#text = event.text;
        else if (isAnswer) this.#say(event);
        else this.#comment({ ...event, id: this.#messageId(event) });
        break;
      case 'artifact':
        this.#deliver(event);
        break;
    }
  }

  /** Completes the user's answer, which a peer may send only once. `questions` are those that will be asked. */
  finish(end: EventOf<'end'>, questions: readonly Question[]): void {
    const { isAnswer, agent, entryBytes } = this.#options;
    assertSize(questions, entryBytes * QUESTION_SHARE, 'questions');
    if (!isAnswer || end.state !== 'completed') return;
    const text = end.text.trim() === '' ? `${agent} finished without any text.` : end.text;
    if (text !== this.#text) this.#say({ text, replace: true, author: end.author });
  }

  /** The data that the peer answered with. */
  get data(): readonly Json[] {
    return [...this.#data.values()].flat();
  }

  /** A line for the model that names the artifacts which the user got; empty without artifacts. */
  delivered(): readonly string[] {
    if (this.#artifacts.length === 0) return [];
    const names = this.#artifacts.slice(0, MAX_NAMES).map((name) => shorten(name, MAX_NAME_LENGTH));
    const rest = this.#artifacts.length - names.length;
    return [`[delivered to the user: ${names.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}]`];
  }

  /** Shows text before it is in the journal of the peer. It comes once more with its origin. */
  #preview(event: EventOf<'text-delta' | 'activity'>): void {
    const { run, step, isAnswer } = this.#options;
    const { author } = event;
    if (event.type === 'text-delta' && isAnswer) {
      const replace = event.replace || (this.#text === undefined && !this.#hasPreview);
      this.#hasPreview = true;
      sayAnswer(run, { text: event.text, replace, author, isLive: true });
      return;
    }
    const said = event.type === 'text-delta' ? { ...event, id: this.#messageId(event) } : event.activity;
    if (!('text' in said) || !('id' in said) || said.id === undefined) return;
    const { text, id, replace = false } = said;
    run.preview({ type: 'text-delta', artifactId: `${step}/${id}`, text, replace, isMessage: true }, author);
  }

  #report({ activity, author, from }: EventOf<'activity'>): void {
    const { type } = activity;
    if (endsText(activity)) this.#told = NOTHING_TOLD;
    if (type === 'turn-start') this.#turns.set(author, (this.#turns.get(author) ?? 0) + 1);
    if (type !== 'text') this.#emit({ type: 'activity', activity, ...(from && { from }) }, author);
    else if (activity.id !== undefined) this.#comment({ ...activity, id: activity.id, author, from });
    else {
      for (const { text, from: part } of this.#chunks({ text: activity.text, from })) {
        const isWhole = text === activity.text;
        const wait = isWhole ? defined({ waitMs: activity.waitMs }) : {};
        const origin = isWhole && part ? { from: part } : {};
        this.#emit({ type: 'activity', activity: { type, text, ...wait }, ...origin }, author);
      }
    }
  }

  /** Returns the id of the message for a text. Each turn of an agent starts its answer again, so it gets a new message. */
  #messageId({ artifactId, replace, author }: TextDelta): string {
    const known = this.#messages.get(artifactId);
    if (known !== undefined && !replace) return known;
    const id = `${artifactId}.${this.#turns.get(author) ?? 0}`;
    this.#messages.set(artifactId, id);
    return id;
  }

  /** Writes text that is not the user's answer. */
  #comment({ id, replace = false, author, ...whole }: Comment): void {
    const artifactId = `${this.#options.step}/${id}`;
    let restart = replace;
    for (const { text, from } of this.#chunks(whole)) {
      const body = { type: 'text-delta', artifactId, text, replace: restart, isMessage: true } as const;
      this.#emit({ ...body, ...(from && { from }) }, author);
      restart = false;
    }
  }

  /** Writes text of the user's answer. */
  #say({ text, replace, author, from }: Omit<TextDelta, 'type' | 'artifactId'>): void {
    let restart = replace || this.#text === undefined;
    // An empty restart writes nothing yet; the next text then replaces the old answer.
    this.#text = !restart ? this.#text + text : text === '' ? undefined : text;
    if (text === '') return;
    for (const chunk of this.#chunks({ text, from })) {
      this.#admit(Buffer.byteLength(chunk.text));
      sayAnswer(this.#options.run, { ...chunk, replace: restart, author });
      restart = false;
    }
  }

  #deliver({ artifact, author, from }: EventOf<'artifact'>): void {
    const own: Artifact = { ...artifact, id: `${this.#options.step}/${artifact.id}` };
    const body = { type: 'artifact', artifact: own, append: false, lastChunk: true } as const;
    this.#emit({ ...body, ...(from && { from }) }, author);
    this.#artifacts.push(artifact.name ?? artifact.id);
    this.#data.set(
      artifact.id,
      artifact.parts.flatMap((part) => (part.kind === 'data' ? [part.data] : [])),
    );
  }

  #emit(body: EventBody, author?: string): void {
    const { run, entryBytes } = this.#options;
    this.#admit(assertSize(body, entryBytes * (1 - MARGIN_SHARE), body.type));
    run.emit(body, author);
  }

  /** Counts an event. Throws for a noisy peer first, so that a quiet one can still write when the room gets scarce. */
  #admit(bytes: number): void {
    this.#events += 1;
    this.#bytes += bytes;
    if (this.#bytes > MAX_RELAYED_BYTES) throw tooLarge(`more than ${counted(MAX_RELAYED_BYTES, 'byte')}`);
    if (this.#events > this.#share && this.#options.run.room < this.#scarceRoom) {
      throw tooLarge(`more than ${counted(this.#share, 'event')}, its share of this task (tasks.events)`);
    }
  }

  /** Splits text into chunks that fit into one entry each, at least one. Never splits a character. */
  *#chunks({ text, from }: Chunk): Generator<Chunk> {
    const longest = Math.floor(this.#options.entryBytes / BYTES_PER_UNIT);
    if (text.length <= longest) yield { text, from };
    for (let begin = 0; text.length > longest && begin < text.length;) {
      const isSplit = text.length - begin > longest && /[\ud800-\udbff]/.test(text[begin + longest - 1]!);
      const end = Math.min(text.length, begin + (isSplit ? longest - 1 : longest));
      yield { text: text.slice(begin, end), from: from && partOf(from, { begin, end, length: text.length }) };
      begin = end;
    }
  }
}

/** Returns the size of a value as JSON. Throws `too-large` when it is above `maxBytes`. */
function assertSize(value: unknown, maxBytes: number, what: string): number {
  const bytes = Buffer.byteLength(JSON.stringify(value));
  if (bytes > maxBytes)
    throw tooLarge(`more than ${Math.floor(maxBytes)} bytes in one ${what} entry (tasks.eventBytes)`);
  return bytes;
}

function tooLarge(what: string): LangoError {
  return new LangoError('too-large', `it sent ${what}`);
}

/** The reason of a peer that gave none. */
export const NO_REASON = 'no reason given';

/** The result of a delegation that failed, as the model gets it. */
export function failureText(state: 'rejected' | 'failed', agent: string, reason: string): string {
  if (state === 'failed') return `${agent} failed: ${reason}. Do not send it the same request again.`;
  return `${agent} rejected the request: ${reason}. Do not ask it again; ask another agent or answer from what you have.`;
}
