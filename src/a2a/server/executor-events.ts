import type { Artifact as WireArtifact, Message as WireMessage, TaskStatus } from '@a2a-js/sdk';
import type { AgentExecutionEvent } from '@a2a-js/sdk/server';
import { isLangoError } from '../../core/errors.js';
import type { Artifact } from '../../core/message.js';
import { isPlainText, textOf } from '../../core/message.js';
import type { Run, RunEnd } from '../../core/run.js';
import type { EventBody, TaskState } from '../../core/task.js';
import { fromWireArtifact, fromWireParts, fromWireState } from '../translate/content.js';
import { ANSWER_ARTIFACT_NAME } from '../translate/events.js';

/** Writes what an executor publishes into the journal of its run, until it says how the run ends. */
export class ExecutorEvents {
  /** Resolves with the first state that ends the run. */
  readonly end: Promise<RunEnd>;
  readonly #run: Run;
  readonly #replaceAll: boolean;
  readonly #begun = new Set<string>();
  #resolve: (end: RunEnd) => void = () => {};
  #isClosed = false;

  /** `replaceAll`: the first piece of each artifact starts it again, for an earlier pass may have left some of it. */
  constructor(run: Run, options: { readonly replaceAll: boolean }) {
    this.#run = run;
    this.#replaceAll = options.replaceAll;
    this.end = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** Never throws: the executor's bus has nobody to tell. */
  take(event: AgentExecutionEvent): void {
    if (this.#isClosed) return;
    try {
      this.#write(event);
    } catch (error) {
      this.#finish(executorFailure(this.#run, error));
    }
  }

  /** How a run ends whose executor returned; what it published counts, if that said so. */
  endWithout(text: string): Promise<RunEnd> {
    this.#finish({ state: 'failed', reason: 'no-result', text });
    return this.end;
  }

  /** From here on nothing is written. */
  close(): void {
    this.#isClosed = true;
  }

  #write(event: AgentExecutionEvent): void {
    switch (event.kind) {
      case 'message':
        this.#answer(event.data);
        break;
      case 'task':
        for (const artifact of event.data.artifacts) this.#artifact(artifact, false);
        this.#status(event.data.status);
        break;
      case 'statusUpdate':
        this.#status(event.data.status);
        break;
      case 'artifactUpdate':
        if (event.data.artifact) this.#artifact(event.data.artifact, event.data.append);
        break;
    }
  }

  /** A message instead of a task: the answer, and the end. */
  #answer(message: WireMessage): void {
    const artifact: Artifact = {
      id: ANSWER_ARTIFACT_NAME,
      name: ANSWER_ARTIFACT_NAME,
      parts: fromWireParts(message.parts),
    };
    this.#run.emit({ type: 'artifact', artifact, append: false });
    this.#finish({ state: 'completed' });
  }

  #artifact(wire: WireArtifact, append: boolean): void {
    const artifact = fromWireArtifact(wire);
    const isFirst = !this.#begun.has(artifact.id);
    this.#begun.add(artifact.id);
    this.#run.emit(artifactBody(artifact, append && !(isFirst && this.#replaceAll)));
  }

  #status(status: TaskStatus | undefined): void {
    const state = status && fromWireState(status.state);
    if (!state) return;
    const text = textOf(fromWireParts(status.message?.parts ?? []));
    if (state !== 'submitted' && state !== 'working') this.#finish(endOf(state, text));
    else if (text !== '') this.#run.emit({ type: 'activity', activity: { type: 'text', text } });
  }

  #finish(end: RunEnd): void {
    this.#isClosed = true;
    this.#resolve(end);
  }
}

/** Plain text goes as text, which the journal joins; a piece that says more about the artifact goes as it is. */
function artifactBody(artifact: Artifact, append: boolean): EventBody {
  const [part] = artifact.parts;
  const plain = artifact.parts.length === 1 && part && isPlainText(part) ? part : undefined;
  const saysMore = artifact.description !== undefined || artifact.metadata !== undefined;
  const isNamed = artifact.name !== undefined && artifact.name !== ANSWER_ARTIFACT_NAME;
  if (plain && (append || !(isNamed || saysMore))) {
    return { type: 'text-delta', artifactId: artifact.id, text: plain.text, replace: !append };
  }
  return { type: 'artifact', artifact, append };
}

type EndState = Exclude<TaskState, 'submitted' | 'working'>;

/** The journal alone says "canceled", after it was asked to; an executor that stops by itself has failed. */
function endOf(state: EndState, text: string): RunEnd {
  if (state === 'canceled')
    return { state: 'failed', reason: 'canceled', text: text || 'the agent canceled the task' };
  return { state, ...(text === '' ? {} : { text }) };
}

/** How a run ends whose executor threw, or published what cannot be read. The cause is for the log alone. */
export function executorFailure(run: Run, error: unknown): RunEnd {
  if (isLangoError(error)) return { state: 'failed', reason: error.code, text: error.message };
  run.logger.error('an executor failed', { error: error instanceof Error ? error.stack : String(error) });
  return { state: 'failed', reason: 'internal', text: 'internal error; the server log says more' };
}
