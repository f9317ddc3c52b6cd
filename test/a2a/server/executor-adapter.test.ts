import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import type { Part, TaskStatus } from '@a2a-js/sdk';
import { AgentEvent, RequestContext } from '@a2a-js/sdk/server';
import type { AgentExecutor, ExecutionEventBus } from '@a2a-js/sdk/server';
import { fromAgentExecutor } from '../../../src/a2a/server/executor-adapter.js';
import type { Agent } from '../../../src/core/agent.js';
import { textOf } from '../../../src/core/message.js';
import type { A2aNode } from '../../support/a2a-node.js';
import { startA2aNode } from '../../support/a2a-node.js';
import type { WireTask } from '../../support/a2a-requests.js';
import { ask, rpc, sseEvents, taskIn, userMessage } from '../../support/a2a-requests.js';
import { MemoryRun } from '../../support/memory-run.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { startServer } from '../../support/server.js';

type Execute = (bus: ExecutionEventBus, context: RequestContext) => Promise<void> | void;

const PROFILE = { name: 'stock', description: 'Written for the stock SDK.', skills: [] };

function agentOf(execute: Execute, cancelTask: AgentExecutor['cancelTask'] = async () => {}): Agent {
  const executor: AgentExecutor = {
    execute: async (context, bus) => execute(bus, context),
    cancelTask,
  };
  return fromAgentExecutor({ executor, profile: PROFILE });
}

function text(value: string): Part {
  return { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: '' };
}

function status(state: TaskState, words?: string): TaskStatus {
  const message = words === undefined ? undefined : agentMessage(words);
  return { state, message, timestamp: undefined };
}

function agentMessage(words: string) {
  const rest = { contextId: '', taskId: '', metadata: undefined, extensions: [], referenceTaskIds: [] };
  return { messageId: 'a1', role: 2, parts: [text(words)], ...rest };
}

function update(context: RequestContext, state: TaskState, words?: string) {
  const { taskId, contextId } = context;
  return AgentEvent.statusUpdate({ taskId, contextId, status: status(state, words), metadata: undefined });
}

function artifact(context: RequestContext, parts: readonly Part[], more: object = {}) {
  const { taskId, contextId } = context;
  const base = { artifactId: 'a', name: '', description: '', metadata: undefined, extensions: [] };
  const { append = false, ...named } = more as { readonly append?: boolean };
  return AgentEvent.artifactUpdate({
    taskId,
    contextId,
    artifact: { ...base, ...named, parts: [...parts] },
    append,
    lastChunk: false,
    metadata: undefined,
  });
}

function initialTask(context: RequestContext) {
  const { taskId, contextId } = context;
  const rest = { artifacts: [], history: [], metadata: undefined };
  return AgentEvent.task({ id: taskId, contextId, status: status(TaskState.TASK_STATE_SUBMITTED), ...rest });
}

const DONE = TaskState.TASK_STATE_COMPLETED;

describe('an executor written for the stock SDK, published', () => {
  let node: A2aNode;

  afterEach(() => node.stop());

  async function send(agent: Agent, body: object = userMessage('go')): Promise<WireTask> {
    node = await startA2aNode({ agents: [agent] });
    return (await ask(node, '/message:send', { body })).json.task;
  }

  it('X5 has its text chunks joined, its status shown and its end kept', async () => {
    const task = await send(
      agentOf((bus, context) => {
        bus.publish(initialTask(context));
        bus.publish(update(context, TaskState.TASK_STATE_WORKING, 'on my way'));
        for (let i = 0; i < 50; i += 1) bus.publish(artifact(context, [text(`${i} `)], { append: i > 0 }));
        bus.publish(update(context, DONE, 'there it is'));
      }),
    );
    expect(task.status).toMatchObject({
      state: 'TASK_STATE_COMPLETED',
      message: { parts: [{ text: 'there it is' }] },
    });
    expect(task.artifacts.map(({ parts }) => parts)).toEqual([
      [{ text: Array.from({ length: 50 }, (_, i) => `${i} `).join('') }],
    ]);
    expect(task.history.map(({ parts }) => parts[0]?.text)).toEqual(['go', 'on my way', 'there it is']);
  });

  it.each([
    ['a text', {}],
    ['metadata', { metadata: { from: ['client'] } }],
    ['data', { parts: [{ data: { from: ['client'] } }] }],
  ])('may change its request with %s, and the task keeps what was sent', async (_, more) => {
    const { message } = userMessage('go');
    const sent = { message: { ...message, ...more } };
    const task = await send(
      agentOf((bus, context) => {
        expect(context).toBeInstanceOf(RequestContext);
        const { metadata, parts } = context.userMessage;
        const content = parts[0]!.content!;
        const data = content.$case === 'data' ? (content.value as object) : {};
        for (const given of [metadata ?? {}, data])
          Object.values(given).forEach((list: string[]) => list.push('x'));
        parts.push(text('changed'));
        bus.publish(initialTask(context));
        bus.publish(update(context, DONE));
      }),
      sent,
    );
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(task.history[0]).toMatchObject(sent.message);
    expect(task.history[0]?.parts).toHaveLength(1);
  });

  it('keeps its artifact names, its files and the order of mixed parts', async () => {
    const png: Part = {
      content: { $case: 'raw', value: Buffer.from('png') },
      metadata: undefined,
      filename: 'p.png',
      mediaType: 'image/png',
    };
    const task = await send(
      agentOf((bus, context) => {
        bus.publish(artifact(context, [text('one ')], { name: 'report.md', description: 'A report.' }));
        bus.publish(artifact(context, [text('two')], { append: true }));
        bus.publish(artifact(context, [png], { append: true }));
        bus.publish(artifact(context, [text('three')], { append: true }));
        bus.publish(update(context, DONE));
      }),
    );
    expect(task.artifacts).toMatchObject([
      {
        name: 'report.md',
        description: 'A report.',
        parts: [
          { text: 'one two' },
          { raw: 'cG5n', filename: 'p.png', mediaType: 'image/png' },
          { text: 'three' },
        ],
      },
    ]);
  });

  it('may respond with a message instead of a task', async () => {
    const agent = agentOf((bus) => bus.publish(AgentEvent.message(agentMessage('just this'))));
    expect(await send(agent)).toBeUndefined();
    const body = userMessage('go');
    const sent = await ask(node, '/message:send', { body });
    expect(sent.json).toMatchObject({ message: { messageId: 'a1', parts: [{ text: 'just this' }] } });
    // The repeated message gets the same response.
    expect((await ask(node, '/message:send', { body })).text).toBe(sent.text);
    const streamed = await ask(node, '/message:stream', { body: userMessage('go') });
    expect(sseEvents(streamed.text).map(({ data }) => Object.keys(data))).toEqual([['message']]);
    // The log keeps the message as the artifact of a task.
    const { tasks } = (await ask(node, '/tasks?includeArtifacts=true')).json;
    expect(tasks).toHaveLength(3);
    expect(tasks[0]).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ artifactId: 'answer', parts: [{ text: 'just this' }] }],
    });
  });

  it('is ignored once it has published the end of its run', async () => {
    const task = await send(
      agentOf((bus, context) => {
        bus.publish(update(context, DONE));
        bus.publish(artifact(context, [text('too late')]));
        bus.publish(update(context, TaskState.TASK_STATE_FAILED));
      }),
    );
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(task).not.toHaveProperty('artifacts');
  });

  it('3.3 #5: fails its task when it publishes nothing, stops in the middle or throws; the error message stays in the log', async () => {
    const logger = new RecordingLogger();
    const ways: readonly [Execute, string][] = [
      [() => {}, 'The agent stopped without a result.'],
      [
        (bus, context) => bus.publish(update(context, TaskState.TASK_STATE_WORKING)),
        'The agent stopped without a result.',
      ],
      [
        () => Promise.reject(new Error('password hunter2')),
        'Internal error. The log of the server says more.',
      ],
    ];
    for (const [execute, words] of ways) {
      node = await startA2aNode({ agents: [agentOf(execute)], logger });
      const { task } = (await ask(node, '/message:send', { body: userMessage('go') })).json;
      expect(task.status).toMatchObject({
        state: 'TASK_STATE_FAILED',
        message: { parts: [{ text: words }] },
      });
      await node.stop();
    }
    expect(logger.lines.some((line) => line.includes('hunter2'))).toBe(true);
    node = await startA2aNode({ agents: [agentOf(() => {})] });
  });

  it('fails its task when it publishes what is no event, or what cannot be stored', async () => {
    const kept = /has a value that JSON cannot represent/;
    const data = (value: unknown) => ({ ...text(''), content: { $case: 'data' as const, value } });
    const ways: readonly [Execute, RegExp][] = [
      [(bus) => bus.publish(undefined as never), /The log of the server says more/],
      [
        (bus, context) => bus.publish(artifact(context, [undefined as never])),
        /The log of the server says more/,
      ],
      [(bus, context) => bus.publish(artifact(context, [data(10n)])), kept],
    ];
    const logger = new RecordingLogger();
    for (const [execute, words] of ways) {
      node = await startA2aNode({ agents: [agentOf(execute)], logger });
      const { task } = (await ask(node, '/message:send', { body: userMessage('go') })).json;
      expect(task.status.message?.parts).toEqual([{ text: expect.stringMatching(words) }]);
      await node.stop();
    }
    expect(logger.lines.filter((line) => line.includes('an agent failed'))).toHaveLength(2);
    node = await startA2aNode({ agents: [agentOf(() => {})] });
  });

  it('cannot end its task as canceled by itself', async () => {
    const task = await send(
      agentOf((bus, context) => bus.publish(update(context, TaskState.TASK_STATE_CANCELED, 'no time'))),
    );
    expect(task.status).toMatchObject({
      state: 'TASK_STATE_FAILED',
      message: { parts: [{ text: 'no time' }] },
    });
  });

  it('gets a cancel request, and its task ends as canceled', async () => {
    const told: string[] = [];
    let stop = (): void => {};
    const agent = agentOf(
      (bus, context) => {
        bus.publish(update(context, TaskState.TASK_STATE_WORKING));
        return new Promise<void>((resolve) => (stop = resolve));
      },
      async (taskId) => {
        told.push(taskId);
        stop();
      },
    );
    const task = await send(agent, { ...userMessage('go'), configuration: { returnImmediately: true } });
    await taskIn(node, task.id, 'working');
    expect((await rpc(node, 'CancelTask', { id: task.id })).json.result.status.state).toBe(
      'TASK_STATE_CANCELED',
    );
    expect(told).toEqual([task.id]);
  });

  it('does not hold a send that returns immediately for as long as it is silent', async () => {
    const timeout = AbortSignal.timeout.bind(AbortSignal);
    using _short = jest.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => timeout(Math.min(ms, 50)));
    let stop = (): void => {};
    const agent = agentOf(() => new Promise<void>((resolve) => (stop = resolve)));
    const task = await send(agent, { ...userMessage('go'), configuration: { returnImmediately: true } });
    expect(task.status.state).toMatch(/SUBMITTED|WORKING/);
    stop();
  });

  it('gets a follow-up message with the task so far', async () => {
    const seen: (readonly string[] | undefined)[] = [];
    const agent = agentOf((bus, context) => {
      seen.push(
        context.task?.history.map(({ parts }) =>
          parts[0]?.content?.$case === 'text' ? parts[0].content.value : '',
        ),
      );
      const words = context.userMessage.parts[0]?.content?.value as string;
      bus.publish(
        words === 'go'
          ? update(context, TaskState.TASK_STATE_INPUT_REQUIRED, 'where?')
          : update(context, DONE),
      );
    });
    const asked = await send(agent);
    expect(asked.status).toMatchObject({
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: { parts: [{ text: 'where?' }] },
    });
    const answered = (await ask(node, '/message:send', { body: userMessage('there', { taskId: asked.id }) }))
      .json.task;
    expect(answered.status.state).toBe('TASK_STATE_COMPLETED');
    expect(seen).toEqual([undefined, ['go', 'where?', 'there']]);
  });

  it('may change its task, which counts once it publishes it', async () => {
    const seen: number[] = [];
    const data = (n: number): Part => ({ ...text(''), content: { $case: 'data', value: { n } } });
    const agent = agentOf((bus, context) => {
      const { task } = context;
      if (task) {
        const { content } = task.artifacts[0]!.parts[0]!;
        const given = content!.value as { n: number };
        seen.push(given.n);
        given.n += 10;
        if (seen.length > 1) bus.publish(AgentEvent.task(task));
      } else bus.publish(artifact(context, [data(1)]));
      bus.publish(update(context, TaskState.TASK_STATE_INPUT_REQUIRED));
    });
    const { id: taskId } = await send(agent);
    const more = () => ask(node, '/message:send', { body: userMessage('more', { taskId }) });
    await more();
    expect((await more()).json.task.artifacts[0]?.parts).toEqual([{ data: { n: 11 } }]);
    await more();
    expect(seen).toEqual([1, 1, 11]);
  });

  it('has a log, so its stream is replayed from a cursor', async () => {
    const task = await send(
      agentOf((bus, context) => {
        bus.publish(artifact(context, [text('kept')]));
        bus.publish(update(context, DONE));
      }),
    );
    const replay = await ask(node, `/tasks/${task.id}:subscribe`, { headers: { 'Last-Event-ID': '1' } });
    const texts = sseEvents(replay.text).flatMap(({ data }) =>
      'artifactUpdate' in data ? data.artifactUpdate.artifact.parts : [],
    );
    expect(texts).toEqual([{ text: 'kept' }]);
  });
});

describe('an executor whose process died in the middle', () => {
  const halfUntil =
    (end: TaskState): Execute =>
    (bus, context) => {
      bus.publish(artifact(context, [text('half ')], { append: true }));
      bus.publish(artifact(context, [text('whole')], { append: true }));
      bus.publish(update(context, end));
    };
  const half = halfUntil(DONE);

  async function crashed(agent: Agent): Promise<MemoryRun> {
    const run = MemoryRun.of('stock', 'go');
    await run.perform(agent);
    const cut = run.events.findIndex(({ body }) => body.type === 'artifact') + 1;
    return run.resumed(cut);
  }

  function replacements(run: MemoryRun): readonly boolean[] {
    return run.events.flatMap(({ body }) => {
      if (body.type === 'artifact') return [!body.append];
      return body.type === 'text-delta' ? [body.replace] : [];
    });
  }

  it('runs again, and starts its artifacts anew', async () => {
    const run = await crashed(agentOf(half));
    expect(await run.perform(agentOf(half))).toEqual({ state: 'completed' });
    expect(replacements(run)).toEqual([false, true, false]);
  });

  it('continues the artifacts of earlier turns when nothing was cut off', async () => {
    const first = MemoryRun.of('stock', 'go');
    await first.perform(agentOf(halfUntil(TaskState.TASK_STATE_INPUT_REQUIRED)));
    const second = first.followedBy('more');
    await second.perform(agentOf(half));
    expect(replacements(second)).toEqual([false, false, false, false]);
  });

  it('fails its task when it must not run twice', async () => {
    const execute = { calls: 0 };
    const executor: AgentExecutor = {
      execute: async () => void (execute.calls += 1),
      cancelTask: async () => {},
    };
    const once = fromAgentExecutor({ executor, profile: PROFILE, recover: 'fail' });
    const run = await crashed(agentOf(half));
    expect(await run.perform(once)).toMatchObject({ state: 'failed', reason: 'interrupted' });
    expect(execute.calls).toBe(0);
    expect(textOf(run.inputs.at(-1)!.message.parts)).toBe('go');
  });

  it('begins only once that is durable when it must not run twice, and else at once', async () => {
    const stored = async (recover: 'rerun' | 'fail') => {
      const run = MemoryRun.of('stock', 'go');
      const at = { begin: [] as readonly string[] };
      const execute: AgentExecutor['execute'] = async () =>
        void (at.begin = run.events.map(({ body }) => body.type));
      const executor = { execute, cancelTask: async () => {} };
      await run.perform(fromAgentExecutor({ executor, profile: PROFILE, recover }));
      return at.begin;
    };
    expect(await stored('fail')).toEqual(['message', 'run-start', 'turn-start']);
    expect(await stored('rerun')).toEqual(['message']);
  });
});

describe('an executor whose task is nearly full', () => {
  it('fails its task, and not the server, when it asks for a login', async () => {
    const asks = agentOf((bus, context) => {
      bus.publish(update(context, TaskState.TASK_STATE_AUTH_REQUIRED, 'log in'));
      return new Promise(() => undefined);
    });
    const nearlyFull: Agent = {
      profile: asks.profile,
      run(run) {
        // One more is the turn of the executor.
        while (run.room > 1) run.emit({ type: 'status', state: 'working' });
        return asks.run(run);
      },
    };
    const server = await startServer({
      agents: [nearlyFull],
      settings: { server: { port: 0 }, tasks: { events: 100 } },
    });
    try {
      const body = JSON.stringify(userMessage('go'));
      const answer = await server.fetch('/agents/stock/message:send', { method: 'POST', body });
      const { task } = (await answer.json()) as { readonly task: WireTask };
      expect(task.status.state).toBe('TASK_STATE_FAILED');
      expect(JSON.stringify(task.status)).toContain('at most 100 journal entries');
    } finally {
      await server.stop();
    }
  });
});
