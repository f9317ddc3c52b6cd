import type { PeerEvent } from '../core/agent.js';
import { LangoError } from '../core/errors.js';
import { textPart } from '../core/message.js';
import type { Run } from '../core/run.js';
import type { Question } from '../core/task.js';

/** The pause before the questions are shown, and between two looks for a message. */
const LOOK_MS = 250;

/** Shows that a task waits for authorization while its peer does, and that it goes on. */
export class Authorization implements Disposable {
  readonly #run: Run;
  readonly #step: string;
  readonly #replied = new AbortController();
  #count = 0;
  /** The number of messages when the questions were shown; undefined before. */
  #known: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(run: Run, step: string) {
    this.#run = run;
    this.#step = step;
  }

  /**
   * Aborts when a message arrives while the peer waits: it may be the reply, and the peer gets it by another request. Also
   * when the task has no room for the questions.
   */
  get signal(): AbortSignal {
    return this.#replied.signal;
  }

  pass(event: Extract<PeerEvent, { type: 'authorization' }>, questions: readonly Question[]): void {
    const { author, waiting } = event;
    clearInterval(this.#timer);
    if (waiting) this.#timer = setInterval(() => this.#look(questions, author), LOOK_MS);
    else if (this.#known !== undefined) this.#run.emit({ type: 'status', state: 'working' });
    this.#known = undefined;
  }

  /** Shows the questions at the first look: a peer that ends its stream meanwhile does not wait for another way. */
  #look(questions: readonly Question[], author: string): void {
    const { inputs } = this.#run;
    if (this.#known === undefined) {
      this.#known = inputs.length;
      try {
        this.#show(questions, author);
      } catch (error) {
        this.#replied.abort(error);
      }
    } else if (inputs.length > this.#known)
      this.#replied.abort(new LangoError('timeout', 'a message for it arrived'));
  }

  #show(questions: readonly Question[], author: string): void {
    for (const question of questions)
      if (!this.#run.questions.has(question.hash))
        this.#run.emit({ type: 'question', step: this.#step, question }, author);
    const text = questions.map((question) => question.text).join('\n');
    const id = `${this.#step}/authorization-${(this.#count += 1)}`;
    const message = { id, role: 'agent', parts: [textPart(text)] } as const;
    this.#run.emit({ type: 'status', state: 'auth-required', message, questions }, author);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
