import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { functionCalls } from '../../src/core/model.js';
import { align } from '../../src/models/offline/align.js';
import { compileTemplate } from '../../src/models/offline/template.js';
import { readWords } from '../../src/models/offline/words.js';
import {
  answerTo,
  converse,
  createFiles,
  functionSpec,
  modelRequest,
  userSays,
  OPERATOR,
  ORCHESTRATOR,
  TOOLS,
} from './offline-world.js';

/** Pieces that the rules look at, in any order, between letters of any script. */
const fragment = fc.oneof(
  fc.constantFrom(
    ...[
      'read',
      'write',
      'to',
      'run',
      'plan',
      'plan:',
      'search for',
      'in',
      'a.txt',
      'it',
      'the result',
      'list',
    ],
    ...[
      ' and then ',
      ' and ',
      ', ',
      '. ',
      '; ',
      '\n',
      '1. ',
      '- ',
      ' at the same time ',
      ' in parallel: ',
      ':',
    ],
    ...[
      '"',
      "'",
      '`',
      '```',
      '“',
      '”',
      '{',
      '}',
      '{path}',
      '\\',
      '\u0000',
      '\ud800',
      '한글',
      'https://a.b',
      'ask operator',
    ],
  ),
  fc.string({ unit: 'binary', maxLength: 6 }),
);
const sentence = fc.array(fragment, { maxLength: 40 }).map((parts) => parts.join(' '));

describe('any text', () => {
  it.each([
    ['tools', OPERATOR],
    ['agents', ORCHESTRATOR],
    ['nothing', []],
  ])('is answered with %s at hand, and every conversation ends', async (_, functions) => {
    await fc.assert(
      fc.asyncProperty(sentence, async (text) => {
        const { respond } = createFiles(new Map([['a.txt', 'AAA']]));
        const request = modelRequest({ messages: [userSays(text)], functions });
        const { rounds, text: said } = await converse({ ...request, maxTokens: 100_000 }, (call) =>
          call.name === 'transfer_to_agent' ? 'done' : respond(call),
        );
        const last = rounds.at(-1)?.[0]?.name;
        expect(said !== '' || last === 'ask_user' || last === 'decline_request').toBe(true);
        const ids = rounds.flat().map(({ id }) => id);
        expect(new Set(ids).size).toBe(ids.length);
      }),
      { numRuns: 300 },
    );
  });

  it('may stand in examples and results, too', async () => {
    await fc.assert(
      fc.asyncProperty(sentence, sentence, sentence, async (example, text, result) => {
        const spec = functionSpec('f', { path: { type: 'string' } }, [example]);
        const request = modelRequest({ messages: [userSays(text)], functions: [spec, ...OPERATOR] });
        await converse({ ...request, maxTokens: 100_000 }, () => result);
      }),
      { numRuns: 300 },
    );
  });

  it('in quotes arrives in a file as it is', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 200 }), async (text) => {
        fc.pre(!text.includes('"'));
        const { files, respond } = createFiles();
        const request = modelRequest({
          messages: [userSays(`write "${text}" to a.txt and then write "${text}" to b.txt`)],
          functions: OPERATOR,
        });
        await converse(request, respond);
        expect([files.get('a.txt'), files.get('b.txt')]).toEqual([text, text]);
      }),
      { numRuns: 300 },
    );
  });
});

/** Work is counted, not timed: how often the matcher looks at a token. */
function countLooks(text: string): number {
  const template = compileTemplate({ text: 'write {content} to {path}' }, TOOLS[1]!.parameters)!;
  const { tokens } = readWords(text);
  let looks = 0;
  const counted = new Proxy(tokens, {
    get(target, key, receiver) {
      if (typeof key === 'string' && /^\d+$/.test(key)) looks += 1;
      return Reflect.get(target, key, receiver) as unknown;
    },
  });
  align(template, { text, tokens: counted }, false);
  return looks;
}

describe('long texts', () => {
  it('are matched with work in proportion to their length', () => {
    const short = countLooks(`write ${'to '.repeat(200)} to a.txt`);
    const long = countLooks(`write ${'to '.repeat(2_000)} to a.txt`);
    expect(short).toBeGreaterThan(200);
    expect(long / short).toBeLessThan(11);
  });

  const SIZE = 100_000;
  const fill = (unit: string) => unit.repeat(Math.ceil(SIZE / unit.length)).slice(0, SIZE);

  /** A fraction of a second each on a free machine; a quadratic rule takes minutes. */
  const FAR_TOO_LONG_MS = 25_000;

  it.each([
    ['one word', fill('x')],
    ['words', `write ${fill('to ')} to a.txt`],
    ['sentences', fill('read a. ')],
    ['thens', fill('read a then ')],
    ['ands', fill('read a and ')],
    ['lines', fill('read a\n')],
    ['white space', `read${fill(' ')}a`],
    ['line breaks', `read${fill('\n')}a`],
    ['double quotes', fill('"')],
    ['single quotes', fill(" 'a")],
    ['opening quotes', fill(' “')],
    ['backticks', fill(' ``` ` ``')],
    ['rising fences', Array.from({ length: 440 }, (_, index) => '`'.repeat(index + 1)).join(' ')],
    ['dots', `read ${fill('.')}`],
    ['commas', fill(',')],
    ['braces', fill('{')],
    ['digits', `read x from line ${fill('9')}`],
    ['dashes in a name', `open ${fill('a-')}`],
    ['a host of labels', `open ${fill('a.')}`],
    ['plans', `plan ${fill('and then ')}`],
    ['quotations', fill('"a" ')],
    ['references', fill('write it to a and then ')],
  ])(
    'of 100 kB are answered at once: %s',
    async (_, text) => {
      const start = performance.now();
      for (const functions of [OPERATOR, ORCHESTRATOR]) {
        await answerTo(modelRequest({ messages: [userSays(text)], functions, maxTokens: 1_000_000 }));
      }
      expect(performance.now() - start).toBeLessThan(FAR_TOO_LONG_MS);
    },
    60_000,
  );

  it('and deep JSON are no danger in results', async () => {
    const messages = [userSays('run ls and then write the result to a.txt')];
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    const request = modelRequest({ messages, functions: OPERATOR });
    const { text } = await converse(request, (call) => (call.name === 'exec' ? deep : 'written'));
    expect(text).toContain('written');
  });

  it('arrive whole', async () => {
    const content = fill('lorem ipsum, dolor. ').trim();
    const request = modelRequest({
      messages: [userSays(`write ${content} to a.txt`)],
      functions: OPERATOR,
      maxTokens: 1_000_000,
    });
    const [call] = functionCalls((await answerTo(request)).content);
    expect(call?.arguments).toEqual({ content, path: 'a.txt' });
  });
});
