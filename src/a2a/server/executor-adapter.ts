import { Role, TaskState as WireState } from '@a2a-js/sdk';
import type { SendMessageRequest, Task } from '@a2a-js/sdk';
import { DefaultExecutionEventBus, RequestContext } from '@a2a-js/sdk/server';
import type { AgentExecutor, ExecutionEventBus } from '@a2a-js/sdk/server';
import type { Agent, AgentProfile } from '../../core/agent.js';
import { errorText } from '../../core/errors.js';
import type { Run, RunEnd, RunInput } from '../../core/run.js';
import { toCallContext } from '../translate/call.js';
import { toWireMessage } from '../translate/content.js';
import { ExecutorEvents, executorFailure } from './executor-events.js';

export interface ExecutorAgentOptions {
  readonly executor: AgentExecutor;
  readonly profile: AgentProfile;
  /**
   * What becomes of a pass that a crash cut off: executed again, with its artifacts replaced (the default),
   * or ended as failed, for executors whose effects must not happen twice.
   */
  readonly recover?: 'rerun' | 'fail';
}

/**
 * An agent out of an executor written for the stock SDK. What it publishes goes into the journal; what it
 * publishes after the state that ends the run is ignored. Cancel, deadline and shutdown call its `cancelTask`.
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
    // The run may have been canceled while its beginning was written.
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

/** What an executor is told of a task that goes on: its messages so far. Its artifacts stay in the journal. */
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
