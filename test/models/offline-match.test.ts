import { describe, expect, it } from '@jest/globals';
import { buildArguments } from '../../src/models/offline/arguments.js';
import { createInterpreter } from '../../src/models/offline/interpreter.js';
import { functionSpec, TOOLS } from './offline-world.js';

const TEXT = { type: 'string' };

function understand(sentence: string, functions = TOOLS) {
  const [best] = createInterpreter(functions).matches(sentence);
  if (!best) return undefined;
  const built = buildArguments(best, { request: sentence, earlier: undefined, replies: [] });
  return { name: best.ability.spec.name, grade: best.grade, ...built };
}

describe('matching a sentence with examples', () => {
  it.each([
    ['read notes.txt', 'fs_read', { path: 'notes.txt' }],
    ['Read notes.txt.', 'fs_read', { path: 'notes.txt' }],
    ['Could you please read the file notes.txt for me?', 'fs_read', { path: 'notes.txt' }],
    ['READ the contents of src/a.ts', 'fs_read', { path: 'src/a.ts' }],
    ['read "my notes.txt"', 'fs_read', { path: 'my notes.txt' }],
    ['read a', 'fs_read', { path: 'a' }],
    ['read ../up/..', 'fs_read', { path: '../up/..' }],
    ['read x from line 12', 'fs_read', { path: 'x', offset: 12 }],
    ['write hello world to notes.txt', 'fs_write', { content: 'hello world', path: 'notes.txt' }],
    ['writing go to town to notes.txt', 'fs_write', { content: 'go to town', path: 'notes.txt' }],
    ['create a file a.txt with "x and then y"', 'fs_write', { path: 'a.txt', content: 'x and then y' }],
    ['creates a.txt with hello', 'fs_write', { path: 'a.txt', content: 'hello' }],
    ['create an empty file e.txt', 'fs_write', { path: 'e.txt', content: '' }],
    ['write 안녕 세상 to 인사.txt', 'fs_write', { content: '안녕 세상', path: '인사.txt' }],
    ['write “ünïcode 🙂” to é.txt', 'fs_write', { content: 'ünïcode 🙂', path: 'é.txt' }],
    ['search for TODO in src', 'fs_search', { text: 'TODO', path: 'src' }],
    ['search for a in b in src', 'fs_search', { text: 'a in b', path: 'src' }],
    ['search for TODO', 'fs_search', { text: 'TODO' }],
    ['list the files', 'fs_list', {}],
    ['list files in the src folder', 'fs_list', { path: 'src' }],
    ['run ls -la', 'exec', { command: 'ls -la' }],
    ['run ls -la.', 'exec', { command: 'ls -la' }],
    ['run find .', 'exec', { command: 'find .' }],
    ['run cd ..', 'exec', { command: 'cd ..' }],
    ['run the command ls', 'exec', { command: 'ls' }],
    ['run `echo "a b"` please', 'exec', { command: 'echo "a b"' }],
    ['run echo "a b" > c.txt', 'exec', { command: 'echo "a b" > c.txt' }],
    ['move a.txt to b.txt', 'fs_move', { from: 'a.txt', to: 'b.txt' }],
  ])('%s', (sentence, name, args) => {
    expect(understand(sentence)).toEqual({ name, grade: 'full', arguments: args, missing: [] });
  });

  it.each([
    ['read', 'fs_read', ['path']],
    ['read the file', 'fs_read', ['path']],
    ['read a file', 'fs_read', ['path']],
    ['write hello to', 'fs_write', ['path']],
    ['write hello', 'fs_write', ['path']],
    ['search for', 'fs_search', ['text']],
  ])('knows what is missing in "%s"', (sentence, name, missing) => {
    expect(understand(sentence)).toMatchObject({ name, grade: 'partial', missing });
  });

  it.each([
    'dance',
    'read between the lines',
    'I love to read books',
    'please',
    'the file',
    'read https://example.com',
    '"read a.txt"',
    '{path}',
    '',
  ])('does not take "%s" for a request', (sentence) => {
    expect(understand(sentence)).toBeUndefined();
  });

  it('prefers the longest literal match, then the word that shows by its form what it is', () => {
    const web = functionSpec('browser_open', { url: TEXT }, ['open {url}']);
    const files = functionSpec('fs_open', { path: TEXT }, ['open {path}', 'open {path} now']);
    const both = [files, web];
    expect(understand('open https://a.b/c?d=e#f', both)).toMatchObject({ name: 'browser_open' });
    expect(understand('open example.com', both)).toMatchObject({ name: 'browser_open' });
    expect(understand('open notes.md', both)).toMatchObject({ name: 'fs_open' });
    expect(understand('open README', both)).toMatchObject({ name: 'fs_open' });
    expect(
      understand('run x in the background', [
        functionSpec('exec', { command: TEXT, cwd: TEXT }, ['run {command} in {cwd}']),
        functionSpec('exec_start', { command: TEXT }, ['run {command} in the background']),
      ]),
    ).toMatchObject({ name: 'exec_start' });
  });

  it('takes the first of two equal examples', () => {
    const twins = ['first', 'second'].map((name) => functionSpec(name, { path: TEXT }, ['read {path}']));
    expect(understand('read a', twins)?.name).toBe('first');
    expect(understand('read a', twins.toReversed())?.name).toBe('second');
  });

  it('ignores an example that is prose', () => {
    const prose = `read {path} ${'well '.repeat(60)}`;
    const [long, short] = [prose, prose.slice(0, 60)].map((text) =>
      functionSpec('f', { path: TEXT }, [text]),
    );
    expect(understand(prose.replace('{path}', 'a.txt'), [long!])).toBeUndefined();
    expect(understand(prose.slice(0, 60).replace('{path}', 'a.txt'), [short!])).toBeDefined();
  });

  it('ignores an example that is nothing but a placeholder', () => {
    expect(understand('anything', [functionSpec('f', { x: TEXT }, ['{x}'])])).toBeUndefined();
  });
});

describe('arguments', () => {
  const typed = functionSpec(
    'typed',
    {
      count: { type: 'integer' },
      share: { type: 'number', optional: true },
      deep: { type: 'boolean', optional: true },
      names: { type: 'array', items: TEXT, optional: true },
      mode: { type: 'string', enum: ['Fast', 'slow'], optional: true },
    },
    [
      'take {count}',
      'take {count} by {share}',
      'take {count} deep {deep}',
      'take {count} for {names}',
      'take {count} {mode}',
    ],
  );

  it.each([
    ['take 3', { count: 3 }],
    ['take 3 by 0.5', { count: 3, share: 0.5 }],
    ['take 3 deep yes', { count: 3, deep: true }],
    ['take 3 for a, "b and c" and d', { count: 3, names: ['a', 'b and c', 'd'] }],
    ['take 3 fast', { count: 3, mode: 'Fast' }],
  ])('are of the type that the schema wants: %s', (sentence, args) => {
    expect(understand(sentence, [typed])).toMatchObject({ arguments: args, missing: [] });
  });

  it.each(['take three', 'take 3.5', 'take 3 slowly'])('are not forced into a type: %s', (sentence) => {
    expect(understand(sentence, [typed])?.grade).not.toBe('full');
  });

  it('come from the example where it fixes them, with placeholders and the whole request in them', () => {
    const spec = functionSpec('f', { a: TEXT, b: TEXT, c: { type: 'object' }, path: TEXT }, [
      {
        text: 'pack {path} well',
        arguments: { a: 'is {path}!', b: '{request}', c: { list: ['{path}', 1] } },
      },
    ]);
    expect(understand('pack x.txt well', [spec])?.arguments).toEqual({
      a: 'is x.txt!',
      b: 'pack x.txt well',
      c: { list: ['x.txt', 1] },
    });
  });

  it('hold only what the function has parameters for', () => {
    const spec = functionSpec('f', { a: TEXT }, ['put {a} on {place}']);
    expect(understand('put cup on table', [spec])?.arguments).toEqual({ a: 'cup' });
  });
});
