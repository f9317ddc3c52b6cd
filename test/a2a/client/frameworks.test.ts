import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../src/core/json.js';
import { type Part, textPart } from '../../../src/core/message.js';
import type { AgentClient, ClientEvent, SendRequest } from '../../../src/index.js';
import { replyPart, connect } from '../../../src/index.js';
import { snapshot, startWireServer, status, type WireScript } from './wire-server.js';

/**
 * The messages of agents of other frameworks, as recorded from their servers. test/interop runs the frameworks
 * themselves.
 */

const WAITING = 'TASK_STATE_INPUT_REQUIRED';
const DONE = 'TASK_STATE_COMPLETED';

async function gather(client: AgentClient, request: SendRequest): Promise<readonly ClientEvent[]> {
  const events: ClientEvent[] = [];
  for await (const event of client.send(request, AbortSignal.timeout(100_000))) events.push(event);
  return events;
}

/**
 * Gets a question with these parts from an agent and replies. Returns the question and the parts of the reply on the
 * wire.
 */
async function converse(asked: readonly JsonObject[], answerTo: (hash: string) => Part) {
  const script: WireScript = ({ params }, wire) => {
    const isReply = (params['message'] as JsonObject)['taskId'] !== undefined;
    const message = { messageId: 'q', role: 'ROLE_AGENT', parts: asked };
    wire.event(isReply ? snapshot(DONE) : snapshot(WAITING, { status: { state: WAITING, message } }));
    wire.end();
  };
  await using closing = new AsyncDisposableStack();
  const server = await startWireServer(script);
  closing.defer(() => server.close());
  const client = connect({ url: server.origin });
  const end = (await gather(client, { parts: [textPart('go')] })).at(-1);
  if (end?.type !== 'end') throw new Error('no end');
  const { questions } = end;
  const [question] = questions;
  await gather(client, { parts: [answerTo(question!.hash)], taskId: 'task-1', questions });
  return { question, answer: (server.calls.at(-1)!.params['message'] as JsonObject)['parts'] };
}

const adkCall = (data: JsonObject): JsonObject => ({
  data,
  metadata: { adk_type: 'function_call', adk_is_long_running: true },
});
const adkResult = { adk_type: 'function_response' };

describe('a question from another framework', () => {
  it("gets its reply from ADK's long-running call as the call's result", async () => {
    const call = adkCall({ id: 'c1', name: 'question', args: { text: 'which colour?' } });
    const { question, answer } = await converse([call], () => textPart('deep blue'));
    expect(question).toMatchObject({ kind: 'input', text: expect.stringMatching(/which colour\?[^]*\}$/) });
    expect(answer).toEqual([
      { data: { id: 'c1', name: 'question', response: { result: 'deep blue' } }, metadata: adkResult },
    ]);
  });

  it.each([
    ['approve', true],
    ['deny', false],
  ] as const)("is an approval when it is ADK's tool confirmation: %s", async (decision, confirmed) => {
    const args = {
      originalFunctionCall: { id: 'c0', name: 'wipe', args: { path: '/srv' } },
      toolConfirmation: { hint: 'Please confirm.', confirmed: false },
    };
    const call = adkCall({ id: 'c1', name: 'adk_request_confirmation', args });
    const { question, answer } = await converse([call], (hash) => replyPart({ hash, decision }));
    expect(question).toMatchObject({ kind: 'approval', tool: 'wipe', arguments: { path: '/srv' } });
    expect(answer).toEqual([
      { data: { id: 'c1', name: 'adk_request_confirmation', response: { confirmed } }, metadata: adkResult },
    ]);
  });

  it("stays open after another of ADK's confirmations was answered", async () => {
    const confirmation = (id: string): JsonObject =>
      adkCall({ id, name: 'adk_request_confirmation', args: { originalFunctionCall: { name: id } } });
    const response = { id: 'c1', name: 'adk_request_confirmation', response: { confirmed: true } };
    const history = [
      { messageId: 'm1', role: 'ROLE_AGENT', parts: [confirmation('c1'), confirmation('c2')] },
      { messageId: 'm2', role: 'ROLE_USER', parts: [{ data: response, metadata: adkResult }] },
    ];
    const server = await startWireServer((_call, wire) =>
      wire.answer((snapshot(WAITING, { history }) as { task: JsonObject }).task),
    );
    await using _closed = { [Symbol.asyncDispose]: () => server.close() };
    const { questions } = await connect({ url: server.origin }).get({ taskId: 'task-1' });
    expect(questions).toMatchObject([{ kind: 'approval', tool: 'c2' }]);
  });

  it('gets its reply as the response to a Strands interrupt', async () => {
    const asked = [
      { text: 'Agent requires input:\n- question: which colour?' },
      { data: { interrupts: [{ interruptId: 'i1', name: 'question', reason: 'which colour?' }] } },
    ];
    const { question, answer } = await converse(asked, () => textPart('{"deep":"blue"}'));
    expect(question?.text).toContain('which colour?');
    expect(answer).toEqual([
      { data: { interruptResponse: { interruptId: 'i1', response: '{"deep":"blue"}' } } },
    ]);
  });

  it('gets its reply as text when its schema never ends', async () => {
    let schema = '{"type":"string"}';
    for (let depth = 0; depth < 5_000; depth += 1) schema = `{"properties":{"a":${schema}}}`;
    const { answer } = await converse([{ text: 'well?' }, { data: { resumeSchema: schema } }], () =>
      textPart('yes'),
    );
    expect(answer).toEqual([{ text: 'yes' }]);
  });
});

describe('the client of a LangGraph agent', () => {
  const file = { kind: 'file', file: { bytes: btoa('buy milk'), mimeType: 'text/plain', name: 'notes.txt' } };
  const artifact = (parts: readonly JsonObject[]): JsonObject => ({
    kind: 'artifact-update',
    ...{ taskId: 'task-1', contextId: 'context-1', artifact: { artifactId: 'a', parts } },
  });

  async function withGraph(script: WireScript, use: (client: AgentClient) => Promise<void>) {
    const server = await startWireServer(script, { extension: 'https://langchain.com/a2a/extensions/x/v1' });
    // oxlint-disable-next-line typescript/no-misused-promises -- finally() waits for the promise
    await use(connect({ url: server.origin })).finally(() => server.close());
    return server.calls;
  }

  it('sends and receives files in the form of 0.3', async () => {
    const notes = {
      kind: 'file',
      bytes: btoa('buy milk'),
      mediaType: 'text/plain',
      filename: 'notes.txt',
    } as const;
    const script: WireScript = (_, wire) => {
      wire.event(snapshot('TASK_STATE_WORKING'));
      wire.event(artifact([file]));
      wire.event(status(DONE));
      wire.end();
    };
    const calls = await withGraph(script, async (client) => {
      const events = await gather(client, { parts: [textPart('read'), notes] });
      const files = events.flatMap((event) => (event.type === 'artifact' ? event.artifact.parts : []));
      expect(files).toEqual([notes]);
    });
    expect((calls[0]!.params['message'] as JsonObject)['parts']).toEqual([{ text: 'read' }, file]);
  });

  it("keeps data that looks like LangGraph's own messages", async () => {
    const data = { parts: [file, { url: 'https://a.example/' }] };
    const script: WireScript = (_, wire) => {
      wire.event(artifact([{ kind: 'data', data }]));
      wire.event(status(DONE));
      wire.end();
    };
    const calls = await withGraph(script, async (client) => {
      const events = await gather(client, { parts: [{ kind: 'data', data }] });
      const got = events.flatMap((event) => (event.type === 'artifact' ? event.artifact.parts : []));
      expect(got).toEqual([{ kind: 'data', data }]);
    });
    expect((calls[0]!.params['message'] as JsonObject)['parts']).toEqual([{ data }]);
  });

  it('reads a question from the data of an artifact, live and in a snapshot', async () => {
    const parts = [{ kind: 'data', data: { id: 'i1', value: 'which colour?' } }];
    const script: WireScript = ({ method }, wire) => {
      const artifacts = [{ artifactId: 'a', parts }];
      if (method === 'GetTask')
        return wire.answer((snapshot(WAITING, { artifacts }) as { task: JsonObject }).task);
      wire.event(snapshot('TASK_STATE_WORKING'));
      wire.event(artifact(parts));
      wire.event(status(WAITING));
      return wire.end();
    };
    await withGraph(script, async (client) => {
      const end = (await gather(client, { parts: [textPart('go')] })).at(-1);
      const wanted = [{ kind: 'input', text: expect.stringContaining('which colour?') }];
      expect(end).toMatchObject({ state: 'input-required', questions: wanted });
      expect(await client.get({ taskId: 'task-1' })).toMatchObject({ questions: wanted });
    });
  });

  it('requests a task again without the history length that LangGraph refuses', async () => {
    const script: WireScript = ({ params }, wire) => {
      if (params['historyLength'] === undefined)
        return wire.answer((snapshot(DONE) as { task: JsonObject }).task);
      return wire.refuse(-32602, 'historyLength cannot exceed 10');
    };
    await withGraph(script, async (client) => {
      expect(await client.get({ taskId: 'task-1' })).toMatchObject({ state: 'completed' });
    });
  });
});

describe('an answer from another framework', () => {
  const piece = (text: string, more: JsonObject = {}): JsonObject => ({
    message: {
      ...{ messageId: 'm', role: 'ROLE_AGENT', taskId: 'task-1', contextId: 'context-1', parts: [{ text }] },
      ...more,
    },
  });

  async function endOf(...events: readonly JsonObject[]) {
    await using closing = new AsyncDisposableStack();
    const server = await startWireServer((_call, wire) => {
      events.forEach((one) => wire.event(one));
      wire.end();
    });
    closing.defer(() => server.close());
    return await gather(connect({ url: server.origin }), { parts: [textPart('go')] });
  }

  it('is read when its pieces are messages in the stream of a task, as Agno streams it', async () => {
    const thought = { messageId: 't', metadata: { agno_content_category: 'reasoning' } };
    const events = await endOf(
      status('TASK_STATE_WORKING'),
      piece('Let me count.', thought),
      piece('SE'),
      piece('VEN'),
      status(DONE),
    );
    expect(events.at(-1)).toMatchObject({ type: 'end', state: 'completed', text: 'SEVEN' });
    const said = { type: 'text', text: 'Let me count.' };
    expect(events).toContainEqual(expect.objectContaining({ type: 'activity', activity: said }));
  });

  it('is no answer when the messages are of another task', async () => {
    const events = await endOf(
      status('TASK_STATE_WORKING'),
      piece('SEVEN', { taskId: 'other' }),
      status(DONE),
    );
    expect(events.at(-1)).toMatchObject({
      state: 'failed',
      text: expect.stringContaining('changed the task id') as unknown,
    });
  });
});
