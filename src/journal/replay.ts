import type { Usage } from '../core/model.js';
import { NO_USAGE, addUsage } from '../core/model.js';
import { AskedQuestions } from '../core/questions.js';
import type { AskedQuestion, RecordedStep, RunInput } from '../core/run.js';
import type { TaskEvent } from '../core/task.js';
import { isFromOutside } from '../core/task.js';
import { OpenDelegations } from './open-delegations.js';

/** What a run knows of the past of its task: the log, folded once when the run starts. */
export class Replay {
  readonly inputs: RunInput[] = [];
  readonly #questions = new AskedQuestions();
  readonly #steps = new Map<string, Mutable<RecordedStep>>();
  readonly delegations = new OpenDelegations();
  usage: Usage = NO_USAGE;
  head = 0;
  attempts = 0;
  cancelRequested = false;
  hasReadOutside = false;
  /** Runs in a row that began and recorded nothing: the sign of a task that kills its process. */
  fruitlessAttempts = 0;

  /** Events come in order, each once. */
  add(event: TaskEvent): void {
    const { body, seq } = event;
    this.head = seq;
    this.delegations.add(body);
    this.#questions.add(event);
    this.hasReadOutside ||= isFromOutside(body);
    this.fruitlessAttempts = body.type === 'run-start' ? this.fruitlessAttempts + 1 : 0;
    switch (body.type) {
      case 'message':
        this.inputs.push({ seq, message: body.message });
        break;
      case 'run-start':
        this.attempts = body.attempt;
        break;
      case 'turn-start':
      case 'tool-call':
      case 'delegation-start':
        this.#steps.set(body.step, { intent: body, result: undefined, childTaskId: undefined });
        break;
      case 'delegation-task':
        this.#require(body.step).childTaskId = body.taskId;
        break;
      case 'tool-result':
        this.#require(body.step).result = body;
        break;
      case 'turn-end':
      case 'delegation-end':
        this.#require(body.step).result = body;
        this.usage = addUsage(this.usage, body.usage);
        break;
      case 'cancel-request':
        this.cancelRequested = true;
        break;
      case 'text-delta':
      case 'artifact':
      case 'activity':
      case 'question':
      case 'question-expiry':
      case 'run-end':
        break;
    }
  }

  get questions(): ReadonlyMap<string, AskedQuestion> {
    return this.#questions.byHash;
  }

  step(step: string): RecordedStep | undefined {
    return this.#steps.get(step);
  }

  #require(step: string): Mutable<RecordedStep> {
    const record = this.#steps.get(step);
    if (!record) throw new Error(`the journal holds a result of step ${step} without its intent`);
    return record;
  }
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
