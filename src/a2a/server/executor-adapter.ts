import { Role, TaskState as WireState } from '@a2a-js/sdk';
import type {
  Artifact as WireArtifact,
  Message as WireMessage,
  SendMessageRequest,
  Task,
  TaskStatus,
} from '@a2a-js/sdk';
import { DefaultExecutionEventBus, RequestContext } from '@a2a-js/sdk/server';
import type { AgentExecutionEvent, AgentExecutor, ExecutionEventBus } from '@a2a-js/sdk/server';
import type { Agent, AgentProfile } from '../../core/agent.js';
import { errorText, isLangoError } from '../../core/errors.js';
import type { Artifact } from '../../core/message.js';
import { isPlainText, textOf } from '../../core/message.js';
import type { Run, RunEnd, RunInput } from '../../core/run.js';
import type { EventBody, TaskState } from '../../core/task.js';
import { toCallContext } from '../translate/call.js';
import { fromWireArtifact, fromWireParts, fromWireState, toWireMessage } from '../translate/content.js';
import { ANSWER_ARTIFACT_NAME } from '../translate/events.js';

export interface ExecutorAgentOptions {
  readonly executor: AgentExecutor;
  readonly profile: AgentProfile;
  /**
   * What happens to a run that a crash interrupted: `rerun` (the default) executes it again and replaces its artifacts,
   * `fail` ends it as failed, for executors whose effects must not happen twice.
   */
  readonly recover?: 'rerun' | 'fail';
}

/**
 * Makes an agent of an executor that was written for the stock SDK. Its events go into the journal; events after the
 * state that ends the run are ignored. Cancel, deadline and shutdown call its `cancelTask`.
 */
export function fromAgentExecutor(options: ExecutorAgentOptions): Agent {
  const { profile, executor, recover = 'rerun' } = options;
  return {
    profile,
    async run(run) {
      const input = run.inputs.at(-1)!;
      const step = `execute:${input.seq}`;
      const isResumed = run.recorded(step) !== undefined;
      if (isResumed && recover === 'fail') {
        return {
          state: 'failed',
          reason: 'interrupted',
          text: 'the server stopped while this was under way',
        };
      }
      await run.append({ type: 'turn-start', step });
      return execute(executor, run, { input, isResumed });
    },
  };
}

interface Pass {
  readonly input: RunInput;
  readonly isResumed: boolean;
}

async function execute(executor: AgentExecutor, run: Run, pass: Pass): Promise<RunEnd> {
  const bus = new DefaultExecutionEventBus();
  const events = new ExecutorEvents(run, { replaceAll: pass.isResumed });
  bus.on('event', (event) => events.take(event));
  const stop = (): void => void cancel(executor, run, bus);
  try {
    const done = executor.execute(requestContext(run, pass.input), bus).then(
      () => events.endWithout('the agent stopped without a result'),
      (error: unknown) => executorFailure(run, error),
    );
    // The run may have been canceled while its first event was written.
    if (run.signal.aborted) stop();
    else run.signal.addEventListener('abort', stop, { once: true });
    return await Promise.race([events.end, done]);
  } catch (error) {
    return executorFailure(run, error);
  } finally {
    run.signal.removeEventListener('abort', stop);
    events.close();
    bus.removeAllListeners();
  }
}

async function cancel(executor: AgentExecutor, run: Run, bus: ExecutionEventBus): Promise<void> {
  try {
    await executor.cancelTask(run.task.id, bus);
  } catch (error) {
    run.logger.warn('an executor could not cancel its task', { error: errorText(error) });
  }
}

function requestContext(run: Run, input: RunInput): RequestContext {
  const { id, contextId, tenant, owner } = run.task;
  const place = { taskId: id, contextId };
  const request: SendMessageRequest = {
    tenant: '',
    message: { ...toWireMessage(input.message, place), role: Role.ROLE_USER },
    configuration: undefined,
    metadata: undefined,
  };
  const context = toCallContext({ scope: { tenant, owner }, signal: run.signal, after: undefined });
  const earlier = run.inputs.length > 1 ? taskOf(run) : undefined;
  return new RequestContext(request, id, contextId, context, earlier);
}

/** The earlier state of a continued task, for the executor: its messages so far, without its artifacts. */
function taskOf({ task, inputs }: Run): Task {
  const place = { taskId: task.id, contextId: task.contextId };
  return {
    id: task.id,
    contextId: task.contextId,
    status: {
      state: WireState.TASK_STATE_WORKING,
      message: undefined,
      timestamp: new Date(task.statusAt).toISOString(),
    },
    artifacts: [],
    history: inputs.map(({ message }) => toWireMessage(message, place)),
    metadata: undefined,
  };
}

/** Writes the events of an executor into the journal of its run, until one of them ends the run. */
class ExecutorEvents {
  /** Resolves with the first state that ends the run. */
  readonly end: Promise<RunEnd>;
  readonly #run: Run;
  readonly #replaceAll: boolean;
  readonly #begun = new Set<string>();
  #resolve: (end: RunEnd) => void = () => {};
  #isClosed = false;

  /** `replaceAll`: the first chunk of each artifact replaces what an interrupted run may have left of it. */
  constructor(run: Run, options: { readonly replaceAll: boolean }) {
    this.#run = run;
    this.#replaceAll = options.replaceAll;
    this.end = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** Never throws, since the executor's bus could not report it. */
  take(event: AgentExecutionEvent): void {
    if (this.#isClosed) return;
    try {
      this.#write(event);
    } catch (error) {
      this.#finish(executorFailure(this.#run, error));
    }
  }

  /** The end of a run whose executor returned: what it published, or else a failure with this text. */
  endWithout(text: string): Promise<RunEnd> {
    this.#finish({ state: 'failed', reason: 'no-result', text });
    return this.end;
  }

  /** Events after this call are ignored. */
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

  /** A message in place of a task is the whole answer, and ends the run. */
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

/** Plain text becomes a text delta, which the journal joins; a chunk with more fields stays an artifact event. */
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

/** Only the journal ends a run as canceled, when a client asks for it; an executor that stops by itself has failed. */
function endOf(state: EndState, text: string): RunEnd {
  if (state === 'canceled')
    return { state: 'failed', reason: 'canceled', text: text || 'the agent canceled the task' };
  return { state, ...(text === '' ? {} : { text }) };
}

/** The end of a run whose executor threw, or published an event that cannot be read. Only the log shows the cause. */
function executorFailure(run: Run, error: unknown): RunEnd {
  if (isLangoError(error)) return { state: 'failed', reason: error.code, text: error.message };
  run.logger.error('an executor failed', { error: error instanceof Error ? error.stack : String(error) });
  return { state: 'failed', reason: 'internal', text: 'internal error; the server log says more' };
}
