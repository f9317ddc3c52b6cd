import type { Message, Part, TaskStatusUpdateEvent } from '@a2a-js/sdk';
import { Role, TaskState } from '@a2a-js/sdk';
import type { AgentExecutor, ExecutionEventBus, RequestContext } from '@a2a-js/sdk/server';
import { AgentEvent } from '@a2a-js/sdk/server';
import { toWirePart } from '../../../src/a2a/translate/content.js';
import { authorMetadata, usageMetadata } from '../../../src/a2a/translate/extensions.js';
import { textPart } from '../../../src/core/message.js';
import { questionPart } from '../../../src/journal/run-work.js';

export interface ExecutorCall {
  readonly message: Message;
  readonly taskId: string;
  readonly owner: string | undefined;
}

/** An agent for the stock SDK. The first word of a message selects its script. */
export class ScriptedExecutor implements AgentExecutor {
  readonly calls: ExecutorCall[] = [];
  readonly canceled: string[] = [];
  readonly #begun = Promise.withResolvers<void>();
  /** Resolves once a task waits for `proceed` or `cancelTask`. */
  readonly isWaiting = this.#begun.promise;
  #proceed: () => void = () => {};
  #waiting: { context: RequestContext; bus: ExecutionEventBus } | undefined;

  /** Lets a waiting task continue. */
  proceed(): void {
    this.#proceed();
  }

  execute = async (context: RequestContext, bus: ExecutionEventBus): Promise<void> => {
    const { taskId, userMessage: message } = context;
    this.calls.push({ message, taskId, owner: context.context.user?.userName });
    const text = message.parts
      .map(({ content }) => (content?.$case === 'text' ? content.value : ''))
      .join('');
    const script = new Script(context, bus);
    if (text === 'message') {
      bus.publish(AgentEvent.message(script.message('just so')));
      bus.finished();
      return;
    }
    script.open();
    if (context.task) this.#answer(script, text);
    else await this.#begin(script, text, { context, bus });
    bus.finished();
  };

  cancelTask = async (taskId: string, bus: ExecutionEventBus): Promise<void> => {
    this.canceled.push(taskId);
    if (this.#waiting) new Script(this.#waiting.context, bus).status(TaskState.TASK_STATE_CANCELED);
    this.#proceed();
    bus.finished();
  };

  #answer(script: Script, text: string): void {
    script.status(TaskState.TASK_STATE_WORKING);
    script.text(`painted ${text}`);
    script.status(TaskState.TASK_STATE_COMPLETED);
  }

  async #begin(
    script: Script,
    text: string,
    call: { context: RequestContext; bus: ExecutionEventBus },
  ): Promise<void> {
    switch (text) {
      case 'stream':
        script.status(TaskState.TASK_STATE_WORKING, 'thinking about it');
        for (const [at, word] of ['one', ' two', ' three'].entries()) {
          script.text(word, at > 0);
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        return script.status(TaskState.TASK_STATE_COMPLETED);
      case 'status-answer':
        return script.status(TaskState.TASK_STATE_COMPLETED, 'in the status');
      case 'fail':
        return script.status(TaskState.TASK_STATE_FAILED, 'it broke');
      case 'reject':
        return script.status(TaskState.TASK_STATE_REJECTED, 'not my job');
      case 'ask':
        return script.status(TaskState.TASK_STATE_INPUT_REQUIRED, 'which color?');
      case 'approve':
        return script.approve();
      case 'marks':
        return script.marks();
      case 'files':
        return script.files();
      case 'wait':
        this.#waiting = call;
        script.status(TaskState.TASK_STATE_WORKING);
        await new Promise<void>((resolve) => {
          this.#proceed = resolve;
          this.#begun.resolve();
        });
        if (this.canceled.length > 0) return;
        script.text('done waiting');
        return script.status(TaskState.TASK_STATE_COMPLETED);
      default:
        return script.status(TaskState.TASK_STATE_FAILED, `unknown: ${text}`);
    }
  }
}

/** Publishes the events of one run. */
export class Script {
  readonly #context: RequestContext;
  readonly #bus: ExecutionEventBus;
  #count = 0;

  constructor(context: RequestContext, bus: ExecutionEventBus) {
    this.#context = context;
    this.#bus = bus;
  }

  /** Publishes the task, as stock agents do first; on a follow-up the task still holds its question. */
  open(state = TaskState.TASK_STATE_SUBMITTED, text?: string): void {
    const { taskId, contextId, task, userMessage } = this.#context;
    const message = text === undefined ? undefined : this.message(text);
    this.#bus.publish(
      AgentEvent.task(
        task ?? {
          id: taskId,
          contextId,
          status: { state, message, timestamp: undefined },
          artifacts: [],
          history: [userMessage],
          metadata: undefined,
        },
      ),
    );
  }

  message(text: string, parts: readonly Part[] = [toWirePart(textPart(text))]): Message {
    const { taskId, contextId } = this.#context;
    return {
      messageId: `${taskId}-${++this.#count}`,
      contextId,
      taskId,
      role: Role.ROLE_AGENT,
      parts: [...parts],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    };
  }

  status(state: TaskState, text?: string, metadata?: TaskStatusUpdateEvent['metadata']): void {
    this.#publishStatus(state, { message: text === undefined ? undefined : this.message(text), metadata });
  }

  approve(): void {
    const question = questionPart({
      hash: 'h1',
      kind: 'approval',
      text: 'Run ls?',
      author: 'scripted',
      tool: 'exec',
      arguments: { command: 'ls' },
    });
    const parts = [toWirePart(textPart('Run ls?')), toWirePart(question)];
    this.#publishStatus(TaskState.TASK_STATE_INPUT_REQUIRED, {
      message: this.message('', parts),
      metadata: undefined,
    });
  }

  marks(): void {
    const author = 'deep-agent';
    const activity = { type: 'tool-call', tool: 'fs_read', arguments: { path: 'a' } } as const;
    this.status(TaskState.TASK_STATE_WORKING, undefined, authorMetadata({ author, activity }));
    this.artifact('answer', {
      parts: [toWirePart(textPart('marked'))],
      metadata: authorMetadata({ author }),
    });
    this.status(TaskState.TASK_STATE_COMPLETED, undefined, {
      ...authorMetadata({ author }),
      ...usageMetadata({ input: 7, output: 3, cached: 1 }),
    });
  }

  files(): void {
    const bytes = Buffer.from('png').toString('base64');
    this.artifact('report', { parts: [toWirePart({ kind: 'data', data: { rows: 1 } })] });
    const file = toWirePart({ kind: 'file', bytes, mediaType: 'image/png' });
    this.artifact('report', { parts: [file], append: true });
    this.text('see the report');
    this.status(TaskState.TASK_STATE_COMPLETED);
  }

  text(text: string, append = false): void {
    this.artifact('answer', { parts: [toWirePart(textPart(text))], append });
  }

  artifact(
    artifactId: string,
    given: { parts: Part[]; append?: boolean; metadata?: TaskStatusUpdateEvent['metadata'] },
  ): void {
    const { taskId, contextId } = this.#context;
    this.#bus.publish(
      AgentEvent.artifactUpdate({
        taskId,
        contextId,
        artifact: {
          artifactId,
          name: '',
          description: '',
          parts: given.parts,
          metadata: given.metadata,
          extensions: [],
        },
        append: given.append ?? false,
        lastChunk: false,
        metadata: undefined,
      }),
    );
  }

  #publishStatus(
    state: TaskState,
    { message, metadata }: { message: Message | undefined; metadata: TaskStatusUpdateEvent['metadata'] },
  ): void {
    const { taskId, contextId } = this.#context;
    const status = { state, message, timestamp: new Date().toISOString() };
    this.#bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status, metadata }));
  }
}
