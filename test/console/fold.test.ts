import { expect, it } from '@jest/globals';
import { exchangeOf } from '../../src/console/web/exchange.js';
import { viewAt, type Item } from '../../src/console/web/fold.js';
import type { StreamEvent, Task } from '../../src/console/web/wire.js';
import { EXTENSIONS } from '../../src/core/extensions.js';
import type { Activity } from '../../src/core/task.js';
import type { ModelAnswer } from '../../src/core/model.js';
import { toolNamed } from '../support/agent-fixtures.js';
import { ScriptedModel, ask, call, say, withPreamble } from '../support/scripted-model.js';
import { sendText, withServer, type TestServer } from '../support/server.js';

/** A task as the pages read it: the task, and its events from the first. */
async function readTask(
  server: TestServer,
  id: string,
): Promise<{ task: Task; events: readonly StreamEvent[] }> {
  const post = (method: string, headers = {}) =>
    server.fetch('/', {
      method: 'POST',
      headers: { 'A2A-Version': '1.0', 'A2A-Extensions': Object.values(EXTENSIONS).join(', '), ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { id } }),
    });
  const { result } = (await (await post('GetTask')).json()) as { readonly result: Task };
  const stream = await (await post('SubscribeToTask', { 'Last-Event-ID': '0' })).text();
  const lines = stream.split('\n').filter((line) => line.startsWith('data:'));
  return {
    task: result,
    events: lines.map((line) => (JSON.parse(line.slice(5)) as { readonly result: StreamEvent }).result),
  };
}

function lineOf(item: Item): string {
  if (item.kind === 'tool') return `${item.author} calls ${item.tool}`;
  if (item.kind === 'delegation') return `${item.author} asks ${item.agent}`;
  if (item.kind === 'thinking') return `${item.author} thought: ${item.text}`;
  const who = item.kind === 'user' ? 'user' : item.author;
  return `${who}: ${item.parts.map(({ text = '' }) => text).join('')}`;
}

it('the console shows what models thought before what they said, of sub-agents too', async () => {
  const thinking = (text: string, answer: ModelAnswer): ModelAnswer => {
    const block = { type: 'thinking', thinking: text, signature: 'x' };
    return { ...answer, content: [{ type: 'opaque', provider: 'scripted', block }, ...answer.content] };
  };
  const model = new ScriptedModel({
    orchestrator: [
      thinking('Who reads?', withPreamble('I ask.', call(ask('librarian', 'read', false)))),
      thinking('Now I know.', say('It is x.')),
    ],
    librarian: [thinking('Easy.', say('x'))],
  });
  await withServer({ tools: [toolNamed('search_x')], model }, async (server) => {
    const { taskId } = await sendText(server, 'go');
    const { task, events } = await readTask(server, taskId);
    expect(viewAt(task, events, events.length).items.map(lineOf)).toEqual([
      'user: go',
      'lango-orchestrator thought: Who reads?',
      'lango-orchestrator: I ask.',
      'lango-orchestrator asks librarian',
      'librarian thought: Easy.',
      'librarian: x',
      'lango-orchestrator thought: Now I know.',
      'lango-orchestrator: It is x.',
    ]);
  });
});

it('the console shows a text before a call, the call, and the text after it in this order', async () => {
  const work = ['exec_one', { path: 'x' }] as const;
  const model = new ScriptedModel({
    orchestrator: [
      withPreamble('I ask the librarian.', call(ask('librarian', 'read', false))),
      withPreamble('I ask the operator.', call(ask('operator', 'do', true))),
    ],
    librarian: [withPreamble('I look.', call(['search_x', { path: 'x' }])), say('It is x.')],
    operator: [
      withPreamble('I look into the folder.', call(work)),
      withPreamble('Once more.', call(work)),
      say('It is done.'),
    ],
  });
  const tools = [toolNamed('exec_one'), toolNamed('search_x')];
  await withServer({ tools, model }, async (server) => {
    const { taskId } = await sendText(server, 'go');
    const { task, events } = await readTask(server, taskId);
    const { items, artifacts } = viewAt(task, events, events.length);
    expect(items.map(lineOf)).toEqual([
      'user: go',
      'lango-orchestrator: I ask the librarian.',
      'lango-orchestrator asks librarian',
      'librarian: I look.',
      'librarian calls search_x',
      'librarian: It is x.',
      'lango-orchestrator: I ask the operator.',
      'lango-orchestrator asks operator',
      'operator: I look into the folder.',
      'operator calls exec_one',
      'operator: Once more.',
      'operator calls exec_one',
      'operator: It is done.',
    ]);
    expect(artifacts.map(({ name, parts }) => [name, parts.map(({ text }) => text).join('')])).toEqual([
      ['answer', 'It is done.'],
    ]);
    expect(new Set(items.map(({ key }) => key)).size).toBe(items.length);
  });
});

it('the console shows a message of a person below what the agent said before its question', async () => {
  const model = new ScriptedModel({
    flat: [
      withPreamble('I need a word.', call(['ask_user', { question: 'Which?' }])),
      withPreamble('Thank you.', call(['exec_one', { path: 'x' }])),
      say('It is done.'),
    ],
  });
  const settings = { server: { port: 0 }, agent: { multiAgent: false } };
  await withServer({ tools: [toolNamed('exec_one')], model, settings }, async (server) => {
    const { taskId } = await sendText(server, 'go');
    await sendText(server, 'blue', { taskId });
    const { task, events } = await readTask(server, taskId);
    expect(viewAt(task, events, events.length).items.map(lineOf)).toEqual([
      'user: go',
      'lango-agent: I need a word.',
      'lango-agent: Which?',
      'user: blue',
      'lango-agent calls ask_user',
      'lango-agent: Thank you.',
      'lango-agent calls exec_one',
      'lango-agent: It is done.',
    ]);
  });
});

it('the console finds the first model call of a run, however long after the start of the run it began', () => {
  const event = (at: number, activity?: Activity): StreamEvent => ({
    statusUpdate: {
      taskId: 't',
      status: { state: 'TASK_STATE_WORKING', timestamp: new Date(at).toISOString() },
      metadata: { [EXTENSIONS.author]: { author: 'root', ...(activity && { activity }) } },
    },
  });
  const asks: Activity = { type: 'delegation-start', agent: 'operator', request: 'look' };
  const span = { id: 's', kind: 'client', name: 'chat m', startedAt: 5_000, attributes: {} } as const;
  const events = [event(1_000), event(6_000, asks)];
  expect(exchangeOf(span, 'root', events)).toEqual({ event: 1, output: 'Asks operator: look' });
});
