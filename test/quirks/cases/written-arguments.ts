import { expect } from '@jest/globals';
import type { Json, JsonObject } from '../../../src/core/json.js';
import { object, toolQuirks, type ToolCase } from '../mcp-tools.js';
import type { Quirk } from '../quirk.js';
import { ask } from '../strict-vendor.js';
import { MODEL_WIRES } from '../vendor-streams.js';

const LISTED = /empty/;
const FIVE = /ef2d127de37b942baad06145e54b0c619a1f22327b2ebbcfbec78f5564afe39d/;

interface Form {
  readonly id: string;
  readonly vendor: string;
  readonly source: string;
  readonly quirk: string;
  readonly tool?: string;
  readonly written: JsonObject | string;
  /** The text that the model reads. Default: the tool was called. */
  readonly reads?: RegExp;
}

const KIMI = { vendor: 'Moonshot', source: 'MoonshotAI/kimi-code#2554' } as const;
const STRICT = { vendor: 'OpenAI', source: 'openclaw/openclaw#97037' } as const;
const OPEN = { vendor: 'Qwen, Llama and others', source: 'openclaw/openclaw#96922' } as const;
const CODE = '`' + '`' + '`';

/** Arguments of built-in tools in other forms, with one reading. */
const FORMS: readonly Form[] = [
  {
    ...STRICT,
    id: 'nulls',
    quirk: 'A model in strict mode sends null for each argument that it leaves out.',
    written: { path: null, recursive: null, limit: null },
  },
  { ...OPEN, id: 'text', quirk: 'Arguments are JSON text inside JSON.', written: '"{\\"path\\":\\".\\"}"' },
  {
    ...OPEN,
    id: 'block',
    quirk: 'Arguments are a Markdown block.',
    written: `${CODE}json\n{"path":"."}\n${CODE}`,
  },
  { ...OPEN, id: 'null', quirk: 'Arguments are null.', written: 'null' },
  { ...OPEN, id: 'empty-list', quirk: 'Arguments are an empty list.', written: '[]' },
  { ...OPEN, id: 'twice', quirk: 'An empty object comes before the arguments.', written: '{}{"path":"."}' },
  {
    ...OPEN,
    id: 'wrapped',
    quirk: 'Arguments are inside an argument.',
    written: { arguments: { path: '.' } },
  },
  { ...OPEN, id: 'number', quirk: 'A number is written as a text.', written: { limit: '5' } },
  { ...OPEN, id: 'boolean', quirk: 'A boolean is written as in Python.', written: { recursive: 'True' } },
  { ...OPEN, id: 'no-number', quirk: 'A number that is left out is an empty text.', written: { limit: '' } },
  { ...OPEN, id: 'spelling', quirk: 'A name is spelled in another way.', written: { 'Path ': '.' } },
  { ...OPEN, id: 'one-item', quirk: 'A value is a list of one.', written: { path: ['.'] } },
  {
    ...OPEN,
    id: 'unknown-null',
    quirk: 'An argument that the tool does not know is null.',
    written: { depth: null },
  },
  {
    ...OPEN,
    id: 'digits',
    quirk: 'A text of digits is written as a number.',
    tool: 'crypto_hash',
    written: { text: 5 },
    reads: FIVE,
  },
  {
    ...KIMI,
    id: 'capitals',
    quirk: 'A value of a list is written in capitals.',
    tool: 'crypto_hash',
    written: { text: '5', algorithm: 'SHA256' },
    reads: FIVE,
  },
  // Values with several readings, or none.
  {
    ...OPEN,
    id: 'two-numbers',
    quirk: 'A text holds two numbers.',
    written: { limit: '5 or 6' },
    reads: /argument limit: .*expected number, received string/,
  },
  {
    ...OPEN,
    id: 'perhaps',
    quirk: 'A boolean is written as another word.',
    written: { recursive: 'perhaps' },
    reads: /argument recursive: .*expected boolean/,
  },
  {
    ...OPEN,
    id: 'two-values',
    quirk: 'A list of two stands for one value.',
    written: { path: ['a', 'b'] },
    reads: /argument path: .*expected string/,
  },
  {
    ...OPEN,
    id: 'unknown',
    quirk: 'An argument that the tool does not know has a value.',
    written: { depth: 3 },
    reads: /unknown argument depth \(there are: /,
  },
  { ...OPEN, id: 'no-json', quirk: 'Arguments are prose.', written: 'list it', reads: /not a JSON object/ },
];

const NAMES: readonly (readonly [name: string, vendor: string, source: string])[] = [
  ['functions.fs_list', 'Moonshot (Kimi K2)', 'vybestack/llxprt-code#713'],
  ['functions.fs_list:3', 'Moonshot (Kimi K2)', 'vybestack/llxprt-code#713'],
  ['fs_list:0', 'Moonshot (Kimi K2)', 'vybestack/llxprt-code#713'],
  ['default_api.fs_list', 'Google (Gemini)', 'google-gemini/gemini-cli#2089'],
  ['default_api:fs_list', 'Google (Gemini)', 'google-gemini/gemini-cli#2089'],
  ['fs_list<|channel|>commentary', 'vLLM (gpt-oss)', 'vllm-project/vllm#26083'],
  ['fs-list', 'Qwen, Llama and others', 'openclaw/openclaw#96922'],
  ['fs list ', 'Qwen, Llama and others', 'openclaw/openclaw#96922'],
  ['FS_List', 'Qwen, Llama and others', 'openclaw/openclaw#96922'],
  ['fs_list()', 'Qwen, Llama and others', 'openclaw/openclaw#96922'],
];

const SETTINGS = { approval: { policy: 'all' } } as const;

const BUILT_IN: readonly Quirk[] = [
  ...FORMS.flatMap(({ id, vendor, source, quirk, tool = 'fs_list', written, reads = LISTED }) =>
    MODEL_WIRES.map((wire): Quirk => ({
      ...{ id: `arguments-${id}-${wire}`, class: 17, wire, vendor, source, quirk },
      right: `The model reads ${reads.source}.`,
      async check() {
        const told = await ask({
          wire,
          answers: [{ calls: [{ name: tool, arguments: written }] }, { text: 'Done.' }],
        });
        expect([told.refused, told.state]).toEqual([[], 'completed']);
        expect(told.results[0]).toMatch(reads);
      },
    })),
  ),
  ...NAMES.flatMap(([name, vendor, source], at) =>
    MODEL_WIRES.map((wire): Quirk => ({
      ...{ id: `arguments-name-${at + 1}-${wire}`, class: 17, wire, vendor, source },
      quirk: `A model calls ${JSON.stringify(name)}.`,
      right: 'The only function of this name is called.',
      async check() {
        const told = await ask({ wire, answers: [{ calls: [{ name }] }, { text: 'Done.' }] });
        expect([told.refused, told.results]).toEqual([[], [expect.stringMatching(LISTED)]]);
      },
    })),
  ),
  ...MODEL_WIRES.map((wire): Quirk => ({
    ...{ id: `arguments-name-several-${wire}`, class: 17, wire, vendor: OPEN.vendor, source: OPEN.source },
    quirk: 'A model calls a function by half of its name.',
    right: 'Nothing is called, and the model reads the names that there are.',
    async check() {
      const told = await ask({ wire, answers: [{ calls: [{ name: 'fs' }] }, { text: 'Done.' }] });
      expect(told.results).toEqual([
        expect.stringMatching(/no function "fs".*Valid names: fs_read, fs_list/),
      ]);
    },
  })),
  ...MODEL_WIRES.map((wire): Quirk => ({
    ...{ id: `arguments-asked-${wire}`, class: 17, wire, ...OPEN },
    quirk: 'A call that a person must approve has arguments in another form.',
    right: 'The person is shown what will run, and the journal keeps what the model wrote.',
    async check() {
      const told = await ask({
        wire,
        settings: SETTINGS,
        answers: [{ calls: [{ name: 'functions.fs_list', arguments: { limit: '5', path: null } }] }],
      });
      const [question] = told.outcome.end.questions;
      expect(question).toMatchObject({ tool: 'fs_list', arguments: { limit: 5 } });
      expect(question!.arguments).not.toHaveProperty('path');
    },
  })),
];

const FORMED = { class: 17, vendor: OPEN.vendor, source: 'NousResearch/hermes-agent#14811' } as const;
const READ = 'The server gets the value in the type of its schema.';
const texts = object({ ids: { type: 'array', items: { type: 'string' } } });

/** Lists in lists, which take no longer than one. */
function listsOf(depth: number): JsonObject {
  return depth === 0 ? { type: 'string' } : { type: 'array', items: listsOf(depth - 1) };
}

function inLists(depth: number, value: Json): Json {
  return depth === 0 ? value : [inLists(depth - 1, value)];
}

/** Arguments of MCP tools in other forms. */
const FOREIGN: readonly ToolCase[] = [
  { id: 'list_text', definition: texts, written: { ids: '["a","b"]' }, got: { ids: ['a', 'b'] } },
  { id: 'list_python', definition: texts, written: { ids: "['a', 'b']" }, got: { ids: ['a', 'b'] } },
  { id: 'list_item', definition: texts, written: { ids: 'a' }, got: { ids: ['a'] } },
  { id: 'list_numbers', definition: texts, written: { ids: [1, 2] }, got: { ids: ['1', '2'] } },
  {
    id: 'object_text',
    definition: object({ deep: { type: 'object', properties: { on: { type: 'boolean' } } } }),
    written: { deep: '{"on":"true"}' },
    got: { deep: { on: true } },
  },
  {
    id: 'objects',
    definition: object({
      all: { type: 'array', items: { type: 'object', properties: { n: { type: 'integer' } } } },
    }),
    written: { all: { n: '3' } },
    got: { all: [{ n: 3 }] },
  },
  {
    id: 'union',
    definition: object({ n: { anyOf: [{ type: 'integer' }, { type: 'null' }] } }),
    written: { n: '3' },
    got: { n: 3 },
  },
  {
    id: 'map',
    definition: object({ m: { type: 'object', additionalProperties: { type: 'integer' } } }),
    written: { m: { a: '3' } },
    got: { m: { a: 3 } },
  },
  {
    id: 'union_text',
    definition: object({ n: { anyOf: [{ type: 'integer' }, { type: 'string' }] } }),
    written: { n: '3' },
  },
  {
    id: 'null_value',
    definition: object({ n: { type: ['integer', 'null'] } }),
    written: { n: null },
  },
  {
    id: 'deep_lists',
    definition: object({ a: listsOf(12) }),
    written: { a: 'x' },
    got: { a: inLists(12, 'x') },
  },
  { id: 'null_left_out', definition: object({ q: { type: 'string' } }), written: { q: null }, got: {} },
].map((one) => ({
  ...FORMED,
  ...one,
  quirk: `A model writes ${JSON.stringify(one.written)} for ${JSON.stringify(one.definition.inputSchema)}.`,
  right: READ,
}));

const REFUSED: readonly ToolCase[] = [
  { id: 'list_commas', definition: texts, written: { ids: 'a, b' }, problem: /argument ids: expected array/ },
  {
    id: 'list_broken',
    definition: texts,
    written: { ids: '["a", "b' },
    problem: /argument ids: expected array/,
  },
  {
    id: 'deep_text',
    definition: texts,
    written: { ids: `${'['.repeat(9_000)}${']'.repeat(9_000)}` },
    problem: /argument ids: expected array, received string/,
  },
  {
    id: 'fraction',
    definition: object({ n: { type: 'integer' } }),
    written: { n: '2.5' },
    problem: /argument n: expected integer, received string/,
  },
  {
    id: 'large_number',
    definition: object({ id: { type: 'string' } }),
    written: { id: 2 ** 60 },
    problem: /argument id: expected string, received number/,
  },
  {
    id: 'null_required',
    definition: object({ q: { type: 'string' } }, { required: ['q'] }),
    written: { q: null },
    problem: /argument q: expected string, received null/,
  },
].map((one) => ({
  ...FORMED,
  ...one,
  quirk: `A model writes ${JSON.stringify(one.written).slice(0, 60)}, which has several readings or none.`,
  right: 'The model reads what is wrong, and the server gets no call.',
}));

export const WRITTEN_ARGUMENTS: readonly Quirk[] = [...BUILT_IN, ...toolQuirks([...FOREIGN, ...REFUSED])];
