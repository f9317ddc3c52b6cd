import { NO_USAGE, addUsage, type Usage } from '../core/model.js';
import type { AskedQuestion, RecordedStep, RunInput } from '../core/run.js';
import {
  isFromOutside,
  isInterrupted,
  type Clearing,
  type BodyOf,
  type EventBody,
  type Question,
  type TaskEvent,
} from '../core/task.js';
import type { Variation } from '../core/fork.js';

export function inputOf({ seq, at }: Pick<TaskEvent, 'seq' | 'at'>, { message, request }: BodyOf<'message'>) {
  return { seq, at, message, ...(request && { request }) };
}

/**
 * The recorded state of a task, built from its journal when a run starts. Maps are made with their first entry, as most runs
 * need none.
 */
export class Replay {
  inputs: RunInput[] = [];
  #questions = new AskedQuestions();
  #steps: Map<string, Mutable<RecordedStep>> | undefined;
  #clearings: Map<string, readonly Clearing[]> | undefined;
  delegations = new OpenDelegations();
  artifacts = new Set<string>();
  usage: Usage = NO_USAGE;
  /** Set in a fork. */
  variation: Variation | undefined;
  head = 0;
  attempts = 0;
  cancelRequested = false;
  hasReadOutside = false;
  /** The size of the events as JSON, as far as it was counted. */
  size = 0;

  /** For a run, which also notes what it has not stored yet. */
  copy(): Replay {
    const copy = Object.assign(new Replay(), this);
    copy.inputs = [...this.inputs];
    copy.#questions = new AskedQuestions(this.#questions);
    copy.#steps = this.#steps && new Map(this.#steps);
    copy.#clearings = this.#clearings && new Map(this.#clearings);
    copy.delegations = new OpenDelegations(this.delegations);
    copy.artifacts = new Set(this.artifacts);
    return copy;
  }

  /** Events come in order, each once. */
  add(event: TaskEvent): void {
    const { body, seq } = event;
    this.head = seq;
    this.delegations.add(body);
    this.#questions.add(event);
    this.hasReadOutside ||= isFromOutside(body);
    switch (body.type) {
      case 'message':
        this.inputs.push(inputOf(event, body));
        break;
      case 'run-start':
        this.attempts = body.attempt;
        break;
      case 'turn-start':
      case 'tool-call':
      case 'delegation-start':
        this.#steps ??= new Map();
        this.#steps.set(body.step, { intent: body, result: undefined, childTaskId: undefined });
        break;
      case 'delegation-task':
        this.#require(body.step).childTaskId = body.taskId;
        break;
      case 'tool-result':
      case 'turn-end':
      case 'delegation-end':
        this.#require(body.step).result = body;
        if ('usage' in body) this.usage = addUsage(this.usage, body.usage);
        break;
      case 'results-cleared':
        this.#clearings ??= new Map();
        this.#clearings.set(body.step, [...this.clearings(body.step), body]);
        break;
      case 'cancel-request':
        this.cancelRequested = true;
        break;
      case 'text-delta':
        if (!body.isMessage) this.artifacts.add(body.artifactId);
        break;
      case 'artifact':
        this.artifacts.add(body.artifact.id);
        break;
      case 'fork':
        this.#fork(body, seq);
        break;
      case 'status':
      case 'activity':
      case 'question':
      case 'question-expiry':
      case 'run-end':
        break;
    }
  }

  /** A fork owes nothing for what it shares, and leaves what that task has outside alone. */
  #fork({ type: _, taskId: __, seq: ___, ...variation }: BodyOf<'fork'>, seq: number): void {
    this.usage = NO_USAGE;
    this.delegations = new OpenDelegations();
    this.cancelRequested = false;
    this.#questions.close(seq);
    this.variation = { ...this.variation, ...variation };
  }

  get questions(): ReadonlyMap<string, AskedQuestion> {
    return this.#questions.byHash;
  }

  /** Adds a question that this run asks. Nothing that came so far replies to it. */
  noteQuestion(question: Question): void {
    this.#questions.add({ seq: Infinity, at: 0, body: { type: 'question', step: '', question } });
  }

  clearings(step: string): readonly Clearing[] {
    return this.#clearings?.get(step) ?? [];
  }

  step(step: string): RecordedStep | undefined {
    return this.#steps?.get(step);
  }

  #require(step: string): Mutable<RecordedStep> {
    const record = this.#steps?.get(step);
    if (!record) throw new Error(`The journal holds a result of step ${step} without its intent.`);
    return record;
  }
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A task at a peer that has not ended: it may still run, or wait for a person. */
export interface OpenDelegation {
  readonly agent: string;
  /** The id of the message that delegated. */
  readonly messageId: string;
  /** Undefined until the peer has named its task. The peer may have accepted the message nevertheless. */
  readonly taskId: string | undefined;
}

/** The delegations of a task that have not ended, according to its journal. */
class OpenDelegations {
  #byStep: Map<string, OpenDelegation> | undefined;
  /** By task id, or by message id until there is one. Several steps may share a task: a person's reply is a step too. */
  #open: Map<string, OpenDelegation> | undefined;

  constructor(earlier?: OpenDelegations) {
    if (earlier) [this.#byStep, this.#open] = [new Map(earlier.#byStep), new Map(earlier.#open)];
  }

  /** Events come in order. Adding an event twice changes nothing. */
  add(body: EventBody): void {
    switch (body.type) {
      case 'delegation-start':
        if (this.#byStep?.has(body.step)) break;
        this.#set(body.step, { agent: body.agent, messageId: body.key, taskId: undefined });
        break;
      case 'delegation-task': {
        const delegation = this.#byStep?.get(body.step);
        if (!delegation || delegation.taskId !== undefined) break;
        this.#open?.delete(delegation.messageId);
        this.#set(body.step, { ...delegation, taskId: body.taskId });
        break;
      }
      case 'delegation-end': {
        const delegation = this.#byStep?.get(body.step);
        if (!delegation) break;
        if (delegation.taskId === undefined) this.#open?.delete(delegation.messageId);
        else if (!isInterrupted(body.state)) this.#open?.delete(delegation.taskId);
        break;
      }
      default:
        break;
    }
  }

  list(): readonly OpenDelegation[] {
    return this.#open ? [...this.#open.values()] : [];
  }

  #set(step: string, delegation: OpenDelegation): void {
    (this.#byStep ??= new Map()).set(step, delegation);
    (this.#open ??= new Map()).set(delegation.taskId ?? delegation.messageId, delegation);
  }
}

/** The questions of a task, according to its journal: which were asked, when a person was shown each, and which expired. */
class AskedQuestions {
  readonly byHash: Map<string, AskedQuestion>;

  constructor(earlier?: AskedQuestions) {
    this.byHash = new Map(earlier ? earlier.byHash : []);
  }

  /** Events come in order, each once. */
  add({ seq, at, body }: Pick<TaskEvent, 'seq' | 'at' | 'body'>): void {
    switch (body.type) {
      case 'question': {
        const { question } = body;
        if (!this.byHash.has(question.hash)) this.byHash.set(question.hash, { seq, question });
        break;
      }
      case 'status':
      case 'run-end': {
        const { questions = [] } = body;
        for (const { hash } of questions) this.#setOnce(hash, { shownAt: seq });
        const [only, ...others] = questions.filter(({ kind }) => kind === 'input');
        if (only && others.length === 0) this.#setOnce(only.hash, { aloneAt: seq });
        break;
      }
      case 'question-expiry':
        for (const { question } of this.byHash.values()) {
          if ((question.expiresAt ?? Infinity) <= at) this.#setOnce(question.hash, { expiredAt: seq });
        }
        break;
      default:
        break;
    }
  }

  /** Ends the time of all questions. */
  close(seq: number): void {
    for (const hash of this.byHash.keys()) this.#setOnce(hash, { expiredAt: seq });
  }

  /** Sets fields of a question that are not set yet. */
  #setOnce(hash: string, fields: Pick<AskedQuestion, 'shownAt' | 'aloneAt' | 'expiredAt'>): void {
    const asked = this.byHash.get(hash);
    if (asked) this.byHash.set(hash, { ...fields, ...asked });
  }
}
