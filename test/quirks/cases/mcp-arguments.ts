import type { JsonObject } from '../../../src/core/json.js';
import { object, toolQuirks, type ToolCase } from '../mcp-tools.js';
import type { Quirk } from '../quirk.js';

const LONG_KEY = 'x'.repeat(70);
const NAMES = { class: 5, vendor: 'Anthropic', source: 'anthropics/claude-code#79418' } as const;
const SHAPES = { class: 6, vendor: 'Anthropic' } as const;

const KEYS: readonly ToolCase[] = [
  {
    ...NAMES,
    id: 'odata',
    quirk: 'A tool of an OData server has the arguments "$top" and "@odata.type", which the vendor refuses.',
    right: 'The model gets names that the vendor takes, and the server gets its own.',
    definition: object({ $top: { type: 'integer' }, '@odata.type': { type: 'string' } }),
    written: { top: 5, 'odata.type': 'A' },
    got: { $top: 5, '@odata.type': 'A' },
    names: ['top', 'odata.type'],
  },
  {
    ...NAMES,
    id: 'long_key',
    source: 'IBM-Cloud/ibm-cloud-cli-release#226',
    quirk: 'An argument has a name of 70 letters.',
    right: 'The model gets a shorter name, and the server gets its own.',
    definition: object({ [LONG_KEY]: { type: 'string' } }),
    written: { [`${'x'.repeat(57)}_c71bd1`]: 'a' },
    got: { [LONG_KEY]: 'a' },
    names: [`${'x'.repeat(57)}_c71bd1`],
  },
  {
    ...NAMES,
    id: 'nested_keys',
    source: 'decocms/studio#6874',
    quirk: 'Objects in lists of objects have names that the vendor refuses.',
    right: 'Names are changed and changed back at all depths.',
    definition: object({
      where: { type: 'object', properties: { 'a b': { type: 'array', items: refusedItem() } } },
    }),
    written: { where: { a_b: [{ id: 'x' }, { $id: 'y' }] } },
    got: { where: { 'a b': [{ $id: 'x' }, { $id: 'y' }] } },
  },
  {
    ...NAMES,
    id: 'alike_keys',
    source: 'ComposioHQ/composio#3500',
    quirk: 'Two arguments differ only in what the vendor refuses.',
    right: 'Both have names of their own.',
    definition: object({ $id: { type: 'string' }, id: { type: 'string' }, '@id': { type: 'string' } }),
    written: { id: 'plain', id_ec4918: 'dollar' },
    got: { id: 'plain', $id: 'dollar' },
  },
  {
    ...NAMES,
    id: 'other_script',
    quirk: 'An argument is named in Chinese.',
    right: 'The model gets another name with the own one in its description, and the server gets its own.',
    definition: object({ 查询: { type: 'string' } }),
    written: { key_bcd677: 'a' },
    got: { 查询: 'a' },
    names: ['key_bcd677'],
  },
];

function refusedItem(): JsonObject {
  return { type: 'object', properties: { $id: { type: 'string' } }, required: ['$id'] };
}

const branch = (name: string): JsonObject => ({
  type: 'object',
  properties: { [name]: { type: 'string' } },
  required: [name],
});
const kind = (value: string, name: string): JsonObject => ({
  ...branch(name),
  properties: { kind: { const: value }, [name]: { type: 'string' } },
  required: ['kind', name],
  additionalProperties: false,
});
const tree = (defs: string): JsonObject => ({
  inputSchema: {
    type: 'object',
    properties: { tree: { $ref: `#/${defs}/T` } },
    [defs]: {
      T: { type: 'object', properties: { kids: { type: 'array', items: { $ref: `#/${defs}/T` } } } },
    },
  },
});

const BRANCHES: readonly ToolCase[] = [
  {
    ...SHAPES,
    id: 'root_any',
    source: 'makenotion/notion-mcp-server#340',
    quirk: 'The arguments are one of two objects (anyOf at the top), which the vendor refuses.',
    right: 'The model sees the arguments of both, and the server gets those of one.',
    definition: { inputSchema: { type: 'object', anyOf: [branch('content'), branch('url')] } },
    written: { url: 'a' },
    names: ['content', 'url'],
  },
  {
    ...SHAPES,
    id: 'root_any_none',
    source: 'makenotion/notion-mcp-server#341',
    quirk: 'The arguments are one of two objects, and the model gives neither.',
    right: "The call is checked by the server's own schema and refused with the reason.",
    definition: { inputSchema: { type: 'object', anyOf: [branch('content'), branch('url')] } },
    written: {},
    problem: /argument content: is missing/,
  },
  {
    ...SHAPES,
    id: 'root_one',
    source: 'anthropics/claude-code#95504',
    quirk: 'The arguments are one of two kinds (oneOf at the top) without a type around them.',
    right: 'The kinds are one list of values, and the server gets the arguments of one kind.',
    definition: { inputSchema: { oneOf: [kind('a', 'x'), kind('b', 'y')] } },
    written: { kind: 'b', y: 'z' },
    names: ['kind', 'x', 'y'],
  },
  {
    ...SHAPES,
    id: 'root_required',
    source: 'opentokenz/mcpx#28',
    quirk: 'At the top is a choice of what is required.',
    right: 'The tool is offered, and the choice is in its description.',
    definition: object(
      { paths: { type: 'string' }, scopes: { type: 'string' } },
      { anyOf: [{ required: ['paths'] }, { required: ['scopes'] }] },
    ),
    written: { scopes: 'a' },
    names: ['paths', 'scopes'],
  },
  {
    ...SHAPES,
    id: 'root_if',
    source: 'anthropics/claude-code#95504',
    quirk: 'An argument exists only under a condition (allOf with if and then at the top).',
    right: 'The model sees it, and the condition is for the server to check.',
    definition: object(
      { mode: { type: 'string' } },
      {
        allOf: [
          {
            if: { properties: { mode: { const: 'a' } } },
            then: { properties: { size: { type: 'integer' } } },
          },
        ],
      },
    ),
    written: { mode: 'a', size: 2 },
    names: ['mode', 'size'],
  },
  {
    ...SHAPES,
    id: 'root_all',
    source: 'google/adk-python#5941',
    quirk: 'The arguments are several objects at once (allOf at the top), each closed against the others.',
    right: 'The model sees the arguments of all.',
    definition: {
      inputSchema: { type: 'object', allOf: [branch('a'), { ...branch('b'), additionalProperties: false }] },
    },
    written: { a: '1', b: '2' },
    names: ['a', 'b'],
  },
];

const REFERENCES: readonly ToolCase[] = [
  ...['$defs', 'definitions'].map((defs): ToolCase => ({
    ...SHAPES,
    id: `tree_${defs.replace('$', '')}`,
    source: 'NousResearch/hermes-agent#36955',
    quirk: `A schema refers to itself below ${defs}, without naming its draft.`,
    right: 'The reference is replaced by its target twice; what is deeper may be anything.',
    definition: tree(defs),
    written: { tree: { kids: [{ kids: [{ kids: [{ any: 1 }] }] }] } },
    names: ['tree'],
  })),
  {
    ...SHAPES,
    id: 'property_ref',
    source: 'google/adk-python#5941',
    quirk: 'An argument refers to the schema of another argument (#/properties/…).',
    right: 'The tool is offered with the schema in place of the reference.',
    definition: object({
      status: { enum: ['a', 'b'] },
      filter: { type: 'array', items: { $ref: '#/properties/status' } },
    }),
    written: { filter: ['c'] },
    problem: /argument filter\.0: expected one of "a", "b"/,
  },
  {
    ...SHAPES,
    id: 'root_ref',
    source: 'open-webui/computer#87',
    quirk: 'The whole schema is a reference to a definition.',
    right: 'The model sees the arguments of the definition.',
    definition: { inputSchema: { $ref: '#/$defs/A', $defs: { A: branch('a') } } },
    written: { a: 'x' },
    names: ['a'],
  },
  {
    ...SHAPES,
    id: 'outside_ref',
    source: 'google/adk-python#5941',
    quirk: 'A schema refers to an address on the web.',
    right: 'Nothing is fetched, and any value is taken for it.',
    definition: object({ a: { $ref: 'https://x.example/schema.json' } }),
    written: { a: { b: 1 } },
    names: ['a'],
  },
  {
    ...SHAPES,
    id: 'wide_refs',
    source: 'IBM/mcp-context-forge#4042',
    quirk: 'References inside references would grow to millions of parts.',
    right: 'The tool is offered with a bounded schema.',
    definition: {
      inputSchema: {
        type: 'object',
        properties: { root: { $ref: '#/$defs/N0' } },
        $defs: Object.fromEntries(
          Array.from({ length: 12 }, (_, at) => [
            `N${at}`,
            {
              type: 'object',
              properties: Object.fromEntries(
                Array.from({ length: 8 }, (_, key) => [`k${key}`, { $ref: `#/$defs/N${(at + 1) % 12}` }]),
              ),
            },
          ]),
        ),
      },
    },
    written: { root: { k1: { k2: {} } } },
    names: ['root'],
  },
];

const DIALECTS: readonly ToolCase[] = [
  {
    id: 'nullable',
    schema: { type: 'string', nullable: true },
    value: null,
    quirk: 'An argument is nullable, as OpenAPI 3.0 says it.',
  },
  { id: 'type_list', schema: { type: ['string', 'null'] }, value: null, quirk: 'An argument has two types.' },
  { id: 'enum_null', schema: { enum: ['x', null] }, value: null, quirk: 'A list of values holds null.' },
  {
    id: 'tuple_4',
    schema: { type: 'array', items: [{ type: 'number' }, { type: 'string' }] },
    value: [1, 'a'],
    quirk: 'A list has a schema for each place, as drafts before 2020 write it.',
  },
  {
    id: 'tuple_2020',
    schema: { type: 'array', prefixItems: [{ type: 'number' }], items: false },
    value: [1],
    quirk: 'A list has a schema for each place, as draft 2020-12 writes it.',
  },
  { id: 'anything', schema: true, value: { a: 1 }, quirk: 'The schema of an argument is true.' },
  { id: 'no_items', schema: { type: 'array' }, value: [1], quirk: 'A list does not say what it holds.' },
  { id: 'mistyped', schema: { type: 'str' }, value: 'a', quirk: 'A type is written as in Python.' },
  { id: 'no_such_type', schema: { type: 'uuid' }, value: 'a', quirk: 'A type is none of JSON Schema.' },
  {
    id: 'upper_type',
    schema: { type: 'STRING' },
    value: 'a',
    quirk: 'A type is written in capitals, as for Gemini.',
  },
  {
    id: 'format',
    schema: { type: 'string', format: 'uuid', pattern: '(a+)+$' },
    value: 'no uuid',
    quirk: 'A pattern would take a regular expression engine minutes.',
  },
  {
    id: 'required_flag',
    schema: { type: 'string', required: true },
    value: 'a',
    quirk: 'An argument says itself that it is required, as draft 3 does.',
  },
].map(({ id, schema, value, quirk }) => ({
  ...SHAPES,
  id,
  source: 'Mnehmos/mnehmos.rpg.mcp#73',
  quirk,
  right: 'The tool is offered, and the server gets the value.',
  definition: object({ v: schema }),
  written: { v: value },
  names: ['v'],
}));

const OTHERS: readonly ToolCase[] = [
  {
    ...SHAPES,
    id: 'draft_4',
    source: 'Mnehmos/mnehmos.rpg.mcp#73',
    quirk: 'A limit is exclusive by a flag, as draft 4 writes it.',
    right: 'The limit is checked.',
    definition: {
      inputSchema: {
        ...{ $schema: 'http://json-schema.org/draft-04/schema#', id: 'x', type: 'object' },
        properties: { n: { type: 'integer', minimum: 0, exclusiveMinimum: true } },
      },
    },
    written: { n: 0 },
    problem: /argument n: must be more than 0/,
  },
  {
    ...SHAPES,
    id: 'pattern_names',
    source: 'google/adk-python#5941',
    quirk: 'An object takes names that fit a pattern, and no others.',
    right: 'The names are for the server to check.',
    definition: object({}, { patternProperties: { '^x-': { type: 'string' } }, additionalProperties: false }),
    written: { 'x-a': 'b' },
  },
  {
    ...SHAPES,
    id: 'no_schema',
    source: 'open-webui/computer#87',
    quirk: 'A definition has no schema of arguments.',
    right: 'The tool is offered without arguments.',
    definition: { inputSchema: undefined },
    names: [],
  },
  {
    ...SHAPES,
    id: 'big',
    source: 'IBM/mcp-context-forge#4042',
    quirk: 'A schema has 24 KB.',
    right: 'The tool is offered with all of its descriptions.',
    definition: object(
      Object.fromEntries(Array.from({ length: 120 }, (_, at) => [`f${at}`, described('x'.repeat(150))])),
    ),
    written: { f7: 'a' },
    sees: /x{150}"/,
  },
  {
    ...SHAPES,
    id: 'huge',
    source: 'IBM/mcp-context-forge#4042',
    quirk: 'A schema has 200 KB, most of it descriptions.',
    right: 'The tool is offered with shorter descriptions.',
    definition: object(
      Object.fromEntries(Array.from({ length: 400 }, (_, at) => [`f${at}`, described('y'.repeat(450))])),
    ),
    written: { f7: 'a' },
  },
];

function described(description: string): JsonObject {
  return { type: 'string', description };
}

export const MCP_ARGUMENTS: readonly Quirk[] = toolQuirks(
  [KEYS, BRANCHES, REFERENCES, DIALECTS, OTHERS].flat(),
);
