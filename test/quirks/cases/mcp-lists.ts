import { expect } from '@jest/globals';
import type { JsonObject } from '../../../src/core/json.js';
import { mcpSettings, openServer, text, toolQuirks, type ToolCase } from '../mcp-tools.js';
import type { Quirk } from '../quirk.js';
import { ask } from '../strict-vendor.js';

const LISTS: readonly ToolCase[] = [
  ...Object.entries({
    bad_output: { outputSchema: { $id: 'x', description: 'no type' } },
    list_output: { outputSchema: { type: 'array' } },
    bad_annotation: { annotations: { readOnlyHint: 'yes', priority: 7 } },
    list_annotations: { annotations: [] },
    bad_icon: { icons: [{ src: 5 }] },
    null_members: { title: null, description: null, annotations: null, outputSchema: null },
    bad_execution: { execution: { taskSupport: 'sometimes' } },
  } as Record<string, JsonObject>).map(([id, more]): ToolCase => ({
    class: 5,
    vendor: 'MCP servers',
    source: 'opentokenz/mcpx#28',
    id,
    quirk: `A definition has a member that its version of the protocol does not know (${Object.keys(more).join()}).`,
    right: 'The tool and all others are offered, and it can be called.',
    definition: more,
  })),
  ...Object.entries({
    list_schema: { inputSchema: { type: 'array' } },
    text_schema: { inputSchema: 'none' },
    too_deep: { inputSchema: deep(100) },
  } as Record<string, JsonObject>).map(([id, more]): ToolCase => ({
    class: 5,
    vendor: 'MCP servers',
    source: 'opentokenz/mcpx#28',
    id,
    quirk: `A definition cannot be used (${id.replace('_', ' ')}).`,
    right: 'That tool is left out, and all others are offered.',
    definition: more,
    isLeftOut: true,
  })),
];

function deep(depth: number): JsonObject {
  return depth === 0 ? { type: 'string' } : { type: 'object', properties: { a: deep(depth - 1) } };
}

const RESULTS: readonly ToolCase[] = [
  ...Object.entries({
    unknown_block: [
      { content: [{ type: 'chart', series: ['ALPHA'] }, ...text('BETA').content] },
      /ALPHA[^]*BETA/,
    ],
    text_block: [{ content: ['ALPHA'] }, /ALPHA/],
    text_content: [{ content: 'ALPHA' }, /ALPHA/],
    null_content: [{ content: null, structuredContent: { a: 'ALPHA' } }, /ALPHA/],
    block_annotation: [
      { content: [{ ...text('ALPHA').content[0], annotations: { priority: 'high' } }] },
      /ALPHA/,
    ],
    null_flag: [{ ...text('ALPHA'), isError: null }, /ALPHA/],
    data_url: [
      { content: [{ type: 'image', data: 'data:image/png;base64,AAAA', mimeType: 'image/png' }] },
      /kept as a file/,
    ],
    no_type: [
      { content: [{ type: 'image', data: 'AAAA' }] },
      /kept as a file of the task: image, application/,
    ],
    not_base64: [{ content: [{ type: 'image', data: '<svg/>', mimeType: 'image/svg+xml' }] }, /<svg\/>/],
    link_without_name: [{ content: [{ type: 'resource_link', uri: 'note://a' }] }, /a link to note:\/\/a/],
    resource_without_uri: [{ content: [{ type: 'resource', resource: { text: 'ALPHA' } }] }, /ALPHA/],
    error_as_text: [{ ...text('ALPHA'), isError: 'true' }, /Error: ALPHA|ALPHA/],
  } as Record<string, readonly [unknown, RegExp]>).map(([id, [result, reads]]): ToolCase => ({
    class: 5,
    vendor: 'MCP servers',
    source: 'opentokenz/mcpx#28',
    id,
    quirk: `A result departs from the protocol (${id.replaceAll('_', ' ')}).`,
    right: 'What can be read of it reaches the model, and the call is no failure.',
    result,
    reads,
  })),
  ...Object.entries({
    data_beside: [{ ...text('2 items.'), structuredContent: { items: ['ALPHA'] } }, /2 items\.\n.*ALPHA/],
    data_alone: [{ content: [], structuredContent: { a: 'ALPHA' } }, /ALPHA/],
    data_list: [{ ...text('2 items.'), structuredContent: ['ALPHA'] }, /ALPHA/],
    data_promised: [text('ALPHA'), /ALPHA/],
    data_large: [{ ...text('many'), structuredContent: { a: 'z'.repeat(50_000) } }, /bytes left out/],
  } as Record<string, readonly [unknown, RegExp]>).map(([id, [result, reads]]): ToolCase => ({
    class: 11,
    vendor: 'MCP servers',
    source: 'MoonshotAI/kimi-code#2554',
    id,
    quirk: `A server puts what matters into structuredContent (${id.replace('_', ' ')}).`,
    right: 'The model reads it as JSON beside the text, bounded.',
    ...(id === 'data_promised' && { definition: { outputSchema: { type: 'object', required: ['n'] } } }),
    result,
    reads,
  })),
  ...Object.entries({
    data_same: { ...text('{"n":1, "a": [2]}'), structuredContent: { a: [2], n: 1 } },
    data_in_text: { ...text('Here: {"n":1}'), structuredContent: { n: 1 } },
    data_wrapped: { ...text('7'), structuredContent: { result: 7 } },
    data_of_file: { ...text('a "b"\n\nc'), structuredContent: { content: 'a "b"\n\nc' } },
    data_items: {
      content: [...text('{"n":1}').content, ...text('{"n":2}').content],
      structuredContent: { result: [{ n: 1 }, { n: 2 }] },
    },
  } as Record<string, unknown>).map(([id, result]): ToolCase => ({
    class: 11,
    vendor: 'FastMCP',
    source: 'PrefectHQ/fastmcp#4784',
    id,
    quirk: `The text of a result already says what structuredContent holds (${id.replace('_', ' ')}).`,
    right: 'The model reads it once.',
    result,
    readsNot: /"n":1.*\n?.*"n":1|result|content/,
  })),
];

/** A list whose pages have no end. */
const ENDLESS: Quirk = {
  id: 'mcp-endless',
  class: 5,
  wire: 'MCP',
  vendor: 'MCP servers',
  source: 'DeusData/codebase-memory-mcp#1247',
  quirk: 'Each page of the tools names another one, without an end.',
  right: 'The tools of the first pages are offered.',
  async check() {
    const page = (cursor = '0') => ({
      tools: [{ name: `page_${cursor}`, inputSchema: { type: 'object' } }],
      nextCursor: `${Number(cursor) + 1}`,
    });
    const { url } = await openServer({ list: page, call: () => text('fine') });
    const told = await ask({
      wire: 'Messages',
      settings: mcpSettings(url),
      answers: [{ calls: [{ name: 'mcp_f_page_7' }] }, { text: 'Done.' }],
    });
    expect(told.results).toEqual(['fine']);
  },
};

export const MCP_LISTS: readonly Quirk[] = [...toolQuirks([...LISTS, ...RESULTS]), ENDLESS];
