import { describe, expect, it } from '@jest/globals';
import { functionCalls, type FunctionSpec, type ModelMessage } from '../../src/core/model.js';
import {
  answerTo,
  converse,
  createFiles,
  functionSpec,
  modelRequest,
  userSays,
  CONTROL,
  OPERATOR,
  TOOLS,
} from './offline-world.js';

/** What a conversation with an agent that has tools came to. */
async function run(
  text: string,
  { functions = OPERATOR, earlier = [] as readonly ModelMessage[], world = createFiles() } = {},
) {
  const request = modelRequest({ messages: [...earlier, userSays(text)], functions });
  const { rounds, ...rest } = await converse(request, world.respond);
  return {
    ...rest,
    files: world.files,
    rounds: rounds.map((calls) => calls.map(({ name, arguments: args }) => [name, args] as const)),
    ids: rounds.flat().map(({ id }) => id),
  };
}

const names = (rounds: Awaited<ReturnType<typeof run>>['rounds']) =>
  rounds.map((calls) => calls.map(([name]) => name));

describe('an agent with tools, on the offline model', () => {
  it('does the steps of a request one after the other and reports', async () => {
    const done = await run('write hello world to notes.txt and then read notes.txt');
    expect(names(done.rounds)).toEqual([['fs_write'], ['fs_read']]);
    expect(done.files.get('notes.txt')).toBe('hello world');
    expect(done.text).toBe(
      '1. write hello world to notes.txt: Wrote 11 characters to notes.txt.\n\n2. read notes.txt: hello world',
    );
  });

  it('answers a single step with nothing but its result', async () => {
    const done = await run('read a.txt', { world: createFiles(new Map([['a.txt', 'one\ntwo']])) });
    expect(done.text).toBe('one\ntwo');
  });

  it('does parallel steps in one answer', async () => {
    const done = await run('write one to a.txt and at the same time list the files');
    expect(names(done.rounds)).toEqual([['fs_write', 'fs_list']]);
    expect(new Set(done.ids).size).toBe(2);
  });

  it('hands the result of a step to the next: "the result", "it", and the file that was named', async () => {
    const world = createFiles(new Map([['a.txt', 'AAA']]));
    const listed = await run('list the files and then write the result to out.txt', { world });
    expect(listed.files.get('out.txt')).toBe('a.txt');
    const copied = await run('read a.txt and then write it to b.txt and then read the file', { world });
    expect(copied.files.get('b.txt')).toBe('AAA');
    expect(copied.rounds.at(-1)).toEqual([['fs_read', { path: 'b.txt' }]]);
    const ran = await run('run ls and then save the output to ls.txt', { world });
    expect(ran.files.get('ls.txt')).toBe('ran ls\n');
  });

  it('takes a quoted "it" at its word', async () => {
    const done = await run('list the files and then write "it" to out.txt');
    expect(done.files.get('out.txt')).toBe('it');
  });

  it('knows in the next request what "it" was in the one before', async () => {
    const world = createFiles(new Map([['a.txt', 'AAA']]));
    const first = await run('read a.txt', { world });
    const second = await run('write it to b.txt', { world, earlier: first.messages });
    expect(second.files.get('b.txt')).toBe('AAA');
    const third = await run('read it', { world, earlier: second.messages });
    expect(third.rounds).toEqual([[['fs_read', { path: 'b.txt' }]]]);
  });

  it('never uses the id of a call twice in a conversation, even for the same words', async () => {
    const first = await run('read a.txt');
    const second = await run('read a.txt', { earlier: first.messages });
    expect(second.ids).not.toEqual(first.ids);
    // The same words at the same place of a history that was cut at its beginning.
    const third = await run('read a.txt', { earlier: second.messages.slice(first.messages.length) });
    expect(third.ids).not.toEqual(second.ids);
  });

  it('stops at a step that failed and says what was done, what failed and what was not begun', async () => {
    const done = await run('write x to a.txt and then read no.txt and then run ls');
    expect(names(done.rounds)).toEqual([['fs_write'], ['fs_read']]);
    expect(done.text).toBe(
      'Wrote 1 characters to a.txt.\n\nI could not do this: read no.txt\nThere is no file no.txt.\n\nNot done because of that: "run ls".'.replace(
        'Wrote',
        '1. write x to a.txt: Wrote',
      ),
    );
  });

  it('does not begin what comes after a step that it did not understand', async () => {
    const done = await run('write x to a.txt and then dance and then run ls');
    expect(names(done.rounds)).toEqual([['fs_write']]);
    expect(done.text).toContain('I did not understand: "dance"');
    expect(done.text).toContain('So I did not begin: "run ls"');
  });

  it('does not stumble over a sentence that asks for nothing', async () => {
    const done = await run('Hello! My name is Bob. Write hi to a.txt. Thanks!');
    expect(done.files.get('a.txt')).toBe('hi');
    expect(done.text).toBe('Wrote 2 characters to a.txt.\n\nI did not understand: "My name is Bob".');
  });

  it('declines with a reason and examples when nothing matches', async () => {
    const done = await run('bake a cake');
    expect(names(done.rounds)).toEqual([['decline_request']]);
    expect(done.rounds[0]![0]![1]?.reason).toMatch(
      /^"bake a cake" is nothing that I can do\. .*read \[path\]/,
    );
  });

  it('says it in words where it cannot decline', async () => {
    const done = await run('bake a cake', { functions: TOOLS });
    expect(done.rounds).toEqual([]);
    expect(done.text).toContain('I did not understand "bake a cake"');
    expect(done.text).toContain('ANTHROPIC_API_KEY');
  });

  it('shows results that are JSON as words', async () => {
    const world = createFiles();
    const answer = { state: 'ok', list: [{ name: 'a', size: 1, none: null }, 'b'], text: 'x\ny', empty: [] };
    const done = await run('run ls', { world: { ...world, respond: () => JSON.stringify(answer) } });
    expect(done.text).toBe('state: ok\nlist:\n- name: a, size: 1\n- b\ntext:\nx\ny');
  });

  it('keeps long results within the answer', async () => {
    const world = createFiles(new Map([['a.txt', 'x'.repeat(60_000)]]));
    const done = await run('read a.txt and then read a.txt', { world });
    expect(done.text.length).toBeLessThan(8_192 * 4);
    expect(done.text).toContain('bytes left out');
  });

  it('mentions what came along that is not text', async () => {
    const photo = { kind: 'file', bytes: 'AAAA', filename: 'cat.png', mediaType: 'image/png' } as const;
    const words = userSays('list the files');
    const message = { role: 'user', parts: [...(words.role === 'user' ? words.parts : []), photo] } as const;
    const { text } = await converse(modelRequest({ messages: [message], functions: OPERATOR }), () => 'none');
    expect(text).toContain('did not look at what came with it: a file "cat.png" (image/png)');
    const only = await converse(modelRequest({ messages: [{ role: 'user', parts: [photo] }] }), () => '');
    expect(only.text).toContain('cat.png');
  });
});

describe('what is missing', () => {
  it('is asked for, and the answer is used', async () => {
    const world = createFiles();
    const asked = await run('write hello to', { world });
    expect(asked.rounds).toEqual([
      [
        [
          'ask_user',
          { question: 'For "write hello to" I still need the path (where to write). What is it?' },
        ],
      ],
    ]);
    const done = await run('put it into notes.txt please', { world, earlier: asked.messages });
    expect(done.files.get('notes.txt')).toBe('hello');
  });

  it.each([
    ['b.txt', [['fs_read', { path: 'b.txt' }]]],
    ['"my file"', [['fs_read', { path: 'my file' }]]],
    ['I do not know what', [['ask_user', expect.anything()]]],
  ])('is taken from the result of the question, as the loop hands it on: %s', async (reply, next) => {
    const asked = await run('read');
    expect(await answersTo(asked, reply, false)).toEqual(next);
  });

  it.each([
    ['never mind', 'You took it back.'],
    ['list the files', 'Please send it by itself'],
  ])('is not made up from "%s"', async (reply, said) => {
    const asked = await run('read');
    const answer = await continued(asked, reply, false);
    expect(functionCalls(answer.content)).toEqual([]);
    expect(JSON.stringify(answer.content)).toContain(said);
  });

  it('ends the request when nobody answers', async () => {
    const answer = await continued(await run('read'), 'The user does not answer this.', true);
    expect(JSON.stringify(answer.content)).toContain('Nobody answered');
  });

  it('gives way to another request in a message of its own', async () => {
    const asked = await run('read');
    const done = await run('list the files', { earlier: asked.messages });
    expect(names(done.rounds)).toEqual([['fs_list']]);
  });

  it('is asked for one by one, after the steps before', async () => {
    const move = functionSpec('copy', { path: { type: 'string' }, times: { type: 'integer' } }, [
      'copy {path} times {times}',
    ]);
    const functions = [...TOOLS, move, ...CONTROL];
    const asked = await run('list the files and then copy', { functions });
    expect(names(asked.rounds)).toEqual([['fs_list'], ['ask_user']]);
    const again = await run('a.txt', { functions, earlier: asked.messages });
    expect(JSON.stringify(again.rounds)).toContain('the times');
    const done = await run('3', { functions, earlier: again.messages });
    expect(done.rounds[0]).toEqual([['copy', { path: 'a.txt', times: 3 }]]);
  });

  it('is told in words where nobody can be asked', async () => {
    const done = await run('read', { functions: TOOLS });
    expect(done.rounds).toEqual([]);
    expect(done.text).toContain('I still need the path');
  });

  it('is not asked for when the parameter has a default', async () => {
    const parameters = {
      type: 'object',
      properties: { depth: { type: 'integer', default: 1 } },
      required: ['depth'],
    };
    const spec: FunctionSpec = { name: 'walk', description: '', parameters, examples: [{ text: 'walk' }] };
    const done = await run('walk', { functions: [spec, ...CONTROL] });
    expect(done.rounds).toEqual([[['walk', {}]]]);
  });
});

async function continued(
  { messages }: { messages: readonly ModelMessage[] },
  reply: string,
  isError: boolean,
) {
  const last = messages.at(-1);
  const [call] = last?.role === 'assistant' ? functionCalls(last.content) : [];
  const results = [{ id: call!.id, name: call!.name, content: reply, isError }];
  return answerTo(
    modelRequest({ messages: [...messages, { role: 'results', results }], functions: OPERATOR }),
  );
}

async function answersTo(asked: { messages: readonly ModelMessage[] }, reply: string, isError: boolean) {
  const answer = await continued(asked, reply, isError);
  return functionCalls(answer.content).map(({ name, arguments: args }) => [name, args]);
}

describe('a task that goes on under changed conditions', () => {
  const read: ModelMessage = {
    role: 'assistant',
    author: 'operator',
    content: [{ type: 'function-call', id: 'toolu_01', name: 'fs_read', arguments: { path: 'a.txt' } }],
  };
  const result: ModelMessage = {
    role: 'results',
    results: [{ id: 'toolu_01', name: 'fs_read', content: 'AAA', isError: false }],
  };

  it('does not repeat a call that another model made', async () => {
    const messages = [userSays('read a.txt and then run ls'), read, result];
    const { content } = await answerTo(modelRequest({ messages, functions: OPERATOR }));
    expect(functionCalls(content).map(({ name }) => name)).toEqual(['exec']);
  });

  it('reports from what it has when the functions are gone', async () => {
    const messages = [userSays('read a.txt and then run ls')];
    const first = await answerTo(modelRequest({ messages, functions: OPERATOR }));
    const [call] = functionCalls(first.content);
    const going: readonly ModelMessage[] = [
      ...messages,
      { role: 'assistant', author: 'operator', content: first.content },
      { role: 'results', results: [{ id: call!.id, name: call!.name, content: 'AAA', isError: false }] },
    ];
    const { content } = await answerTo(modelRequest({ messages: going, functions: [] }));
    const said = JSON.stringify(content);
    expect(said).toContain('read a.txt: AAA');
    expect(said).toContain('I could not do this: run ls');
  });

  it('keeps to how it understood the request, though a new tool would understand it otherwise', async () => {
    const messages = [userSays('read a.txt and then run ls')];
    const first = await answerTo(modelRequest({ messages, functions: OPERATOR }));
    const [call] = functionCalls(first.content);
    const going: readonly ModelMessage[] = [
      ...messages,
      { role: 'assistant', author: 'operator', content: first.content },
      { role: 'results', results: [{ id: call!.id, name: call!.name, content: 'AAA', isError: false }] },
    ];
    const greedy = functionSpec('greedy', { goal: { type: 'string' } }, ['read {goal}', 'read {goal} now']);
    const { content } = await answerTo(modelRequest({ messages: going, functions: [greedy, ...OPERATOR] }));
    expect(functionCalls(content).map(({ name }) => name)).toEqual(['exec']);
  });
});
