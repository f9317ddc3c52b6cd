import { describe, expect, it } from '@jest/globals';
import type { ClientEvent } from '../../src/a2a/client/reader.js';
import { Renderer } from '../../src/cli/render.js';
import { NO_USAGE } from '../../src/core/model.js';
import type { Activity, Question } from '../../src/core/task.js';
import { createPaint } from '../../src/terminal/paint.js';

const COMPLETED = end({ state: 'completed' });

describe('the renderer', () => {
  it('shows who speaks, who delegates to whom and which tool runs', () => {
    const text = shown([
      { type: 'task', taskId: 't-1' },
      { type: 'status', state: 'submitted' },
      { type: 'status', state: 'working' },
      does('lango-orchestrator', { type: 'turn-start' }),
      does('lango-orchestrator', {
        type: 'delegation-start',
        agent: 'operator',
        request: 'write\nnotes.md',
      }),
      does('operator', { type: 'tool-call', tool: 'fs_write', arguments: { path: 'notes.md', lines: 2 } }),
      does('operator', { type: 'tool-result', tool: 'fs_write', isError: false, text: 'wrote 5 bytes' }),
      does('lango-orchestrator', { type: 'delegation-end', agent: 'operator', state: 'completed' }),
      says('operator', 'It is written.', true),
      end({ state: 'completed', usage: { input: 1200, output: 34, cached: 100 } }),
    ]);
    expect(text.split('\n')).toEqual([
      'task t-1 submitted',
      'task t-1 working',
      'lango-orchestrator → operator write notes.md',
      'operator ▸ fs_write path="notes.md" lines=2',
      'operator ◂ fs_write: wrote 5 bytes',
      'lango-orchestrator ← operator ✔ completed',
      'operator:',
      'It is written.',
      '✔ completed · 1,200 tokens in (100 cached), 34 out',
      '',
    ]);
  });

  it('writes output in chunks when it is live, and as a whole at the end when not', () => {
    const events = [says('a', 'one ', true), says('a', 'two', false), COMPLETED];
    expect(pieces(events, { live: true })).toEqual(['a:\n', 'one ', 'two', '\n✔ completed\n']);
    expect(pieces(events, { live: false })).toEqual(['a:\none two\n', '✔ completed\n']);
  });

  it('marks output that replaces earlier output, and shows only the last when not live', () => {
    const events = [says('a', 'I will ask.', true), says('b', 'The answer.', true), COMPLETED];
    expect(shown(events).split('\n').slice(0, 5)).toEqual([
      'a:',
      'I will ask.',
      '┄ replaces the text above',
      'b:',
      'The answer.',
    ]);
    expect(shown(events, { live: false })).toBe('b:\nThe answer.\n✔ completed\n');
  });

  it('does not repeat the text before a call when the stream after a question begins with it', () => {
    const question = { hash: 'h', kind: 'approval' as const, author: 'b', text: 'May b do it?' };
    const asked = { ...COMPLETED, state: 'input-required' as const, questions: [question] };
    const called = does('a', { type: 'delegation-start', agent: 'b', request: 'do it' });
    const comment = says('a', 'I will ask.', true);
    const text = shown([comment, called, asked, comment, called, comment, COMPLETED]);
    expect(text.split('a:\nI will ask.')).toHaveLength(3);
    expect(text.indexOf('May b do it?')).toBeLessThan(text.lastIndexOf('I will ask.'));
  });

  it('continues output on a new line after another event', () => {
    const text = shown([
      says('a', 'one', true),
      does('b', { type: 'tool-call', tool: 'x', arguments: {} }),
      says('a', ' two', false),
      COMPLETED,
    ]);
    expect(text).toBe('a:\none\nb ▸ x\na:\n two\n✔ completed\n');
  });

  it('separates the lines of agents that speak at the same time', () => {
    const text = shown([
      does('a', { type: 'text', text: 'first ' }),
      does('b', { type: 'text', text: 'other\nrest' }),
      does('a', { type: 'text', text: 'line\n' }),
      COMPLETED,
    ]);
    expect(text).toBe('b other\na first line\nb rest\n✔ completed\n');
  });

  it('ends the lines of an agent with its delegation, and not those of one that still works', () => {
    const asks = (agent: string) => does('root', { type: 'delegation-start', agent, request: 'x' });
    const returns = (agent: string) => does('root', { type: 'delegation-end', agent, state: 'completed' });
    const text = shown([
      asks('a'),
      asks('b'),
      does('a', { type: 'text', text: 'a is done' }),
      does('b', { type: 'text', text: 'b works' }),
      returns('a'),
      does('b', { type: 'text', text: ' on' }),
      does('below b', { type: 'text', text: 'under another name' }),
      returns('b'),
      says('root', 'All done.', true),
      COMPLETED,
    ]);
    expect(text.split('\n').slice(2, -2)).toEqual([
      'a a is done',
      'root ← a ✔ completed',
      'b b works on',
      'below b under another name',
      'root ← b ✔ completed',
      'root:',
      'All done.',
    ]);
  });

  it.each([true, false])('shows what an agent says before a call, with live: %s', (live) => {
    const events = [
      says('root', 'I ask a.', true),
      does('root', { type: 'delegation-start', agent: 'a', request: 'x' }),
      does('root', { type: 'delegation-end', agent: 'a', state: 'completed' }),
      says('root', 'The answer.', true),
      COMPLETED,
    ];
    expect(shown(events, { live })).toBe(
      'root:\nI ask a.\nroot → a x\nroot ← a ✔ completed\nroot:\nThe answer.\n✔ completed\n',
    );
  });

  it('shows a question with its exact arguments, and nothing in them is invisible', () => {
    const question: Question = {
      hash: 'h',
      kind: 'approval',
      text: 'May operator run exec?',
      author: 'operator',
      tool: 'exec',
      arguments: { command: 'rm \u202efdp.txt\u200b\u3164\ufe00\u001b[1A' },
    };
    expect(shown([end({ state: 'input-required', questions: [question] })])).toBe(
      [
        '⏸ input-required',
        '? operator asks: May operator run exec?',
        '  exec {',
        '    "command": "rm \\u202efdp.txt\\u200b\\u3164\\ufe00\\u001b[1A"',
        '  }',
        '',
      ].join('\n'),
    );
  });

  it('lets no text of an agent control the terminal', () => {
    const evil = '\u001b]0;title\u0007\u009b2J\r\u202ename\u0008\u200b\u2060\ufeff\u3164\u{e0041}\u{e0100}';
    const state = 'failed';
    const text = shown([
      { type: 'task', taskId: evil },
      { type: 'status', state: 'working' },
      does(evil, { type: 'text', text: `${evil}\n` }),
      does(evil, { type: 'tool-call', tool: evil, arguments: { [evil]: evil } }),
      does(evil, { type: 'tool-result', tool: evil, isError: true, text: evil }),
      does(evil, { type: 'delegation-start', agent: evil, request: evil }),
      does(evil, { type: 'delegation-end', agent: evil, state }),
      says(evil, evil, true),
      {
        type: 'artifact',
        author: evil,
        artifact: { id: 'f', name: evil, parts: [{ kind: 'file', url: evil, mediaType: evil }] },
      },
      end({ state, text: evil }),
    ]);
    // eslint-disable-next-line no-control-regex
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]|\p{Default_Ignorable_Code_Point}/u);
    expect(text).toContain('␛]0;title␇');
  });

  it('keeps the characters that scripts and emoji need', () => {
    const text = 'می\u200cخواهم, Fuß\u00adball, 👩\u200d💻, ❤\ufe0f';
    expect(shown([says('a', text, true)])).toContain(text);
  });

  it('shows why a task did not complete', () => {
    expect(shown([end({ state: 'rejected', text: 'out of scope' })])).toBe('✘ rejected: out of scope\n');
  });

  it('colors only on request', () => {
    const colored = pieces([says('a', 'x', true), COMPLETED], { live: true, color: true }).join('');
    expect(colored).toContain('\u001b[1m\u001b[36ma');
  });

  it('tracks whether its last line is open', () => {
    const renderer = new Renderer({
      paint: createPaint(false),
      isLive: true,
      columns: undefined,
      write: () => {},
    });
    renderer.show(says('a', 'x', true));
    expect(renderer.isMidLine).toBe(true);
    renderer.show(COMPLETED);
    expect(renderer.isMidLine).toBe(false);
  });
});

describe('Markdown output on a terminal', () => {
  const MARKDOWN = `## Plan of *work*
Read **the whole file** with \`fs_read\`, then 2 * 3 = 6 and snake_case.
- one item that is longer than the line of this terminal
  1. two
\`\`\`ts
const a = 1; // **not bold**, and longer than the line of the terminal
\`\`\`
| a | b |
日本語日本語日本語日本語日本語日本語日本語
The end`;

  it.each([1, 3, 1_000])('is colored and broken between words, in chunks of %i characters', (size) => {
    const deltas = MARKDOWN.match(new RegExp(`[^]{1,${size}}`, 'g'))!;
    const events = deltas.map((text, index) => says('a', text, index === 0));
    const text = shown([...events, COMPLETED], { color: true, columns: 40 });
    const marked = text
      .replaceAll('\u001b[', '<')
      .replace(/<(\d+)m/g, '<$1>')
      .replaceAll('<39><36>', '');
    expect(marked.split('\n').slice(1, -2)).toEqual([
      '<1>Plan<22> <1>of<22> <1><3>work<23><22>',
      'Read <1>the<22> <1>whole<22> <1>file<22> with <36>fs_read<39>, then 2',
      '* 3 = 6 and snake_case.',
      '• one item that is longer than the line',
      '  of this terminal',
      '  1. two',
      '<2>```ts<22>',
      '<36>const a = 1; // **not bold**, and longer than the line of the terminal<39>',
      '<2>```<22>',
      '| a | b |',
      '日本語日本語日本語日本語日本語日本語日本',
      '語',
      'The end',
    ]);
  });

  const TABLE = `Sizes:
| name | what it is for | size |
|---|:-:|---:|
| **a b**.txt | the notes of today and of some other days | 12 |
| 日本.txt | \`x\` | 3 |
The end`;

  it.each([1, 1_000])(
    'has tables with even columns, whose cells break, in chunks of %i characters',
    (size) => {
      const deltas = TABLE.match(new RegExp(`[^]{1,${size}}`, 'g'))!;
      const events = deltas.map((text, index) => says('a', text, index === 0));
      const plain = shown([...events, COMPLETED], { columns: 48 });
      expect(plain.split('\n').slice(1, -2)).toEqual([
        'Sizes:',
        '| name        |     what it is for      | size |',
        '| ----------- | :---------------------: | ---: |',
        '| **a b**.txt | the notes of today and  |   12 |',
        '|             |   of some other days    |      |',
        '| 日本.txt    |           `x`           |    3 |',
        'The end',
      ]);
      const colored = shown([...events, COMPLETED], { color: true, columns: 60 });
      // eslint-disable-next-line no-control-regex
      const lines = colored.replaceAll(/\u001b\[\d+m/g, '').split('\n');
      expect(lines.slice(2, 5)).toEqual([
        '│ name     │             what it is for             │ size │',
        '│ ──────── │ ────────────────────────────────────── │ ──── │',
        '│ a b.txt  │  the notes of today and of some other  │   12 │',
      ]);
      expect(colored).toContain('\u001b[1ma\u001b[22m');
      const narrow = shown([...events, COMPLETED], { columns: 20 });
      expect(narrow).toContain('| **a b**.txt | the notes of today and of some other days | 12 |');
    },
  );

  it('keeps its marks without colors, and breaks the lines of agents between words', () => {
    const text = shown(
      [
        does('operator', { type: 'text', text: `${'word '.repeat(12)}\n` }),
        says('a', `a **bold** ${'word '.repeat(10)}`, true),
        COMPLETED,
      ],
      { columns: 40 },
    );
    expect(text).toContain('a **bold** word');
    expect(text.split('\n').every((line) => line.length <= 40 && !/\b(w|wo|wor)$/.test(line))).toBe(true);
  });
});

interface Options {
  readonly live?: boolean;
  readonly color?: boolean;
  readonly columns?: number;
}

function pieces(
  events: readonly ClientEvent[],
  { live = true, color = false, columns }: Options,
): readonly string[] {
  const written: string[] = [];
  const write = (text: string) => void written.push(text);
  const renderer = new Renderer({ paint: createPaint(color), isLive: live, columns, write });
  for (const event of events) renderer.show(event);
  return written;
}

function shown(events: readonly ClientEvent[], options: Options = {}): string {
  return pieces(events, options).join('');
}

function does(author: string, activity: Activity): ClientEvent {
  return { type: 'activity', author, activity };
}

function says(author: string, text: string, replace: boolean): ClientEvent {
  return { type: 'text-delta', author, artifactId: 'answer', text, replace };
}

function end(fields: Partial<Extract<ClientEvent, { type: 'end' }>>): ClientEvent {
  return {
    type: 'end',
    state: 'completed',
    text: '',
    author: 'a',
    questions: [],
    usage: NO_USAGE,
    fromOutside: true,
    ...fields,
  };
}
