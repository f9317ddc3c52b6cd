import { TaskState } from '@a2a-js/sdk';
import type { Artifact, TaskStatus } from '@a2a-js/sdk';
import type { AgentExecutor, ExecutionEventBus, RequestContext } from '@a2a-js/sdk/server';
import { AgentEvent } from '@a2a-js/sdk/server';
import { ANSWER, eachChunk, parseWork } from './work.js';

/**
 * An executor of the SDK with the same work as Lango's agent, run by the stock server and by Lango. Its events are
 * those that a client of Lango sees: the submitted task, working, the text, completed.
 */
export const executor: AgentExecutor = {
  async execute(context, bus) {
    const { taskId, contextId, userMessage } = context;
    const task = { id: taskId, contextId, artifacts: [], history: [userMessage], metadata: undefined };
    const place = { taskId, contextId, metadata: undefined };
    if (!context.task)
      bus.publish(AgentEvent.task({ ...task, status: status(TaskState.TASK_STATE_SUBMITTED) }));
    bus.publish(AgentEvent.statusUpdate({ ...place, status: status(TaskState.TASK_STATE_WORKING) }));
    const content = userMessage.parts[0]?.content;
    const work = parseWork(content?.$case === 'text' ? content.value : '');
    if (work.chunks === 0) say(context, bus, { text: ANSWER, append: false });
    await eachChunk(work, (text, index) => say(context, bus, { text, append: index > 0 }));
    bus.publish(
      AgentEvent.statusUpdate({
        ...place,
        status: status(
          work.kind === 'ask' ? TaskState.TASK_STATE_INPUT_REQUIRED : TaskState.TASK_STATE_COMPLETED,
        ),
      }),
    );
    bus.finished();
  },
  async cancelTask() {},
};

function say(
  { taskId, contextId }: RequestContext,
  bus: ExecutionEventBus,
  { text, append }: { readonly text: string; readonly append: boolean },
): void {
  const event = {
    taskId,
    contextId,
    artifact: artifact(text),
    append,
    lastChunk: false,
    metadata: undefined,
  };
  bus.publish(AgentEvent.artifactUpdate(event));
}

function artifact(text: string): Artifact {
  const part = { content: { $case: 'text' as const, value: text }, metadata: undefined };
  return {
    artifactId: 'answer',
    name: 'answer',
    description: '',
    parts: [{ ...part, filename: '', mediaType: '' }],
    metadata: undefined,
    extensions: [],
  };
}

function status(state: TaskState): TaskStatus {
  return { state, message: undefined, timestamp: new Date().toISOString() };
}
