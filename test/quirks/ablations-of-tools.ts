import type { Ablation } from './ablations.js';

/** The rules about tools: their definitions, their arguments and their results. */
export const TOOL_RULES: readonly Ablation[] = [
  {
    rule: 'Names of arguments are made fit for all vendors.',
    file: 'src/core/model-schema.ts',
    find: 'return withFittedKeys(described(plain));',
    replace: 'return described(plain);',
    red: ['mcp-odata', 'mcp-long_key', 'mcp-nested_keys', 'mcp-other_script'],
  },
  {
    rule: 'Names that were made fit are changed back in the call.',
    file: 'src/agents/coercion.ts',
    find: 'if (own !== undefined) return own;',
    replace: '',
    red: ['mcp-long_key', 'mcp-alike_keys', 'mcp-other_script'],
  },
  {
    rule: 'Branches at the top of a schema are merged for the model.',
    file: 'src/core/model-schema.ts',
    find: 'export function modelSchema(schema: JsonObject): JsonObject {',
    replace:
      'export function modelSchema(schema: JsonObject): JsonObject { if (schema) return withFittedKeys(described(schema));',
    red: ['mcp-root_any', 'mcp-root_one', 'mcp-root_if'],
  },
  {
    rule: "Arguments are checked by the server's own schema.",
    file: 'src/core/model-schema.ts',
    find: 'return { ...schema, properties, required, additionalProperties: further };',
    replace: 'return { properties, required, additionalProperties: further };',
    red: ['mcp-root_any_none'],
  },
  {
    rule: 'References are replaced by their targets.',
    file: 'src/core/json-schema.ts',
    find: 'const target = this.#find($ref);',
    replace: 'const target = undefined;',
    red: ['mcp-property_ref', 'mcp-root_ref'],
  },
  {
    rule: 'A schema may have 64 KB.',
    file: 'src/core/json-schema.ts',
    find: 'export const SCHEMA_MAX_BYTES = 64 * 1024;',
    replace: 'export const SCHEMA_MAX_BYTES = 16 * 1024;',
    red: ['mcp-big'],
  },
  {
    rule: 'Descriptions are trimmed before a tool is refused.',
    file: 'src/core/json-schema.ts',
    find: 'if (sizeOf(schema) <= SCHEMA_MAX_BYTES) return schema;',
    replace: 'return schema;',
    red: ['mcp-huge'],
  },
  {
    rule: 'Draft 4 is read: a limit is exclusive by a flag.',
    file: 'src/core/json-schema.ts',
    find: 'if (given[exclusive] !== true || limits[limit] === undefined) continue;',
    replace: 'continue;',
    red: ['mcp-draft_4'],
  },
  {
    rule: 'Each definition and each block of an MCP server is judged alone.',
    file: 'src/capabilities/mcp/connection.ts',
    find: 'messages.attach(transport);',
    replace: '',
    red: ['mcp-bad_output', 'mcp-bad_annotation', 'mcp-bad_icon', 'mcp-unknown_block'],
  },
  {
    rule: 'The first pages of a list without an end are enough.',
    file: 'src/capabilities/mcp/connection.ts',
    find: "if (codeOf(error) !== 'LIST_PAGINATION_EXCEEDED') throw error;",
    replace: 'throw error;',
    red: ['mcp-endless'],
  },
  {
    rule: 'The data of a result is read beside its text.',
    file: 'src/capabilities/mcp/results.ts',
    find: 'const data = structuredContent === undefined ?',
    replace: 'const data = structuredContent === undefined || texts.length > 0 ?',
    red: ['mcp-data_beside', 'mcp-data_large'],
  },
  {
    rule: 'Data that a text repeats is read once.',
    file: 'src/core/data-text.ts',
    find: 'if (saysSame(texts, data)) return [];',
    replace: '',
    red: ['mcp-data_same', 'mcp-data_in_text', 'mcp-data_wrapped', 'mcp-data_items'],
  },
];
