import { expect } from '@jest/globals';
import { listIn, objectIn, textIn, type Json, type JsonObject } from '../../src/core/json.js';
import { openMcpServer, type RawMcpServer } from './mcp-server.js';
import type { Quirk } from './quirk.js';
import { ask, type Told } from './strict-vendor.js';
import type { VendorRule } from './vendor-rules.js';

export interface ToolCase extends Pick<Quirk, 'class' | 'vendor' | 'source' | 'quirk' | 'right'> {
  readonly id: string;
  /** Members of the definition besides its name. Default: a tool without arguments. */
  readonly definition?: JsonObject;
  /** The arguments that the model writes. Default: none. */
  readonly written?: JsonObject | string;
  /** The arguments that the server gets. Default: what the model wrote. */
  readonly got?: JsonObject;
  /** The names of the arguments that the model sees. */
  readonly names?: readonly string[];
  /** The reason that the model reads, of a call that the server must not get. */
  readonly problem?: RegExp;
  /** The result of the call, as the server sends it. */
  readonly result?: unknown;
  /** The text of the result that the model reads. */
  readonly reads?: RegExp;
  /** Text that the model must not read. */
  readonly readsNot?: RegExp;
  /** Text that the model sees in the description of the arguments. */
  readonly sees?: RegExp;
  /** The tool is not offered at all. */
  readonly isLeftOut?: boolean;
}

const LARGEST_SCHEMA = 66_000;
const TRIES = 3;

export const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  inputSchema: { type: 'object', properties, ...more },
});
export const text = (value: string) => ({ content: [{ type: 'text', text: value }] });

/** The servers of this test file. */
const open: Promise<RawMcpServer>[] = [];

export function openServer(script: Parameters<typeof openMcpServer>[0]): Promise<RawMcpServer> {
  const server = openMcpServer(script);
  open.push(server);
  return server;
}

/** Ends the servers of this test file. */
export async function closeMcpServers(): Promise<void> {
  await Promise.all(open.splice(0).map(async (server) => (await server).close()));
}

/** One server offers the tools of all cases in one list, so that no definition may take away another one. */
export function toolQuirks(cases: readonly ToolCase[]): readonly Quirk[] {
  let server: Promise<RawMcpServer> | undefined;
  return cases.map((one) => ({
    ...one,
    id: `mcp-${one.id}`,
    wire: 'MCP',
    async check() {
      const { url, got } = await (server ??= serve(cases));
      const told = await callOnceOffered(one, url);
      expect([told.refused, told.state]).toEqual([[], 'completed']);
      const schema = schemaIn(told, one.id);
      expect(schema === undefined).toBe(one.isLeftOut ?? false);
      if (schema) assertCalled(one, { told, schema, got: got.get(one.id) });
    },
  }));
}

function serve(cases: readonly ToolCase[]): Promise<RawMcpServer> {
  const definitions = cases.map(({ id, definition = {} }) => {
    const { inputSchema, ...more } = { inputSchema: { type: 'object' } as Json, ...definition };
    const schema = inputSchema !== undefined && { inputSchema };
    return { name: id, description: `Does ${id}.`, ...schema, ...more };
  });
  const resultOf = new Map(cases.map(({ id, result = text('fine') }) => [id, result]));
  // Definitions that are none, and one without a name.
  const broken = [null, 'tool', { inputSchema: { type: 'object' } }];
  const list = () => ({ tools: [...broken, ...definitions] });
  return openServer({ list, call: (tool) => resultOf.get(tool) });
}

interface Outcome {
  readonly told: Told;
  readonly schema: JsonObject;
  readonly got: JsonObject | undefined;
}

function assertCalled(one: ToolCase, { told, schema, got }: Outcome): void {
  const { names, problem, sees, reads, readsNot, result, written = {} } = one;
  expect(JSON.stringify(schema).length).toBeLessThan(LARGEST_SCHEMA);
  if (sees) expect(JSON.stringify(schema)).toMatch(sees);
  if (names) expect(Object.keys(objectIn(schema.properties))).toEqual(names);
  expect(got).toEqual(problem ? undefined : (one.got ?? written));
  expect(told.results[0]).toMatch(problem ?? reads ?? (result === undefined ? /fine/ : /./));
  if (readsNot) expect(told.results[0]).not.toMatch(readsNot);
}

/** Vendors that refuse such a name refuse it at all depths. */
const takesKeys: VendorRule = ({ tools }) => {
  const wrong = keysIn(listIn(tools).map((tool) => objectIn(tool).input_schema)).find(
    (key) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(key),
  );
  return wrong && `tools.0.custom.input_schema.properties: Property keys should match pattern: ${wrong}`;
};

function keysIn(schema: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties } = schema as JsonObject;
  return [...Object.keys(objectIn(properties)), ...Object.values(schema).flatMap(keysIn)];
}

/** Vendors want to know what a list holds. */
const takesLists: VendorRule = ({ tools }) =>
  hasListWithoutItems(listIn(tools)) ? 'Invalid schema for function: array schema missing items' : undefined;

function hasListWithoutItems(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  const { type, items } = schema as JsonObject;
  return (type === 'array' && items === undefined) || Object.values(schema).some(hasListWithoutItems);
}

/** A run waits three seconds for an MCP server, and a loaded machine takes longer. */
async function callOnceOffered(one: ToolCase, url: string): Promise<Told> {
  for (let left = TRIES; ; left -= 1) {
    const told = await call(one, url);
    const names = listIn(told.requests[0]?.body.tools).map((tool) => textIn(objectIn(tool).name));
    if (left === 0 || names.some((name) => name.startsWith('mcp_f_'))) return told;
  }
}

function call({ id, written }: ToolCase, url: string): Promise<Told> {
  return ask({
    wire: 'Messages',
    rules: [takesKeys, takesLists],
    settings: mcpSettings(url),
    answers: [
      { calls: [{ name: `mcp_f_${id}`, ...(written && { arguments: written }) }] },
      { text: 'Done.' },
    ],
  });
}

/** The settings of a Lango server with this MCP server. */
export function mcpSettings(url: string) {
  return { mcp: { servers: { f: { url, approval: 'never' as const } } } };
}

function schemaIn({ requests }: Told, tool: string): JsonObject | undefined {
  const tools = listIn(requests[0]!.body.tools).map(objectIn);
  const found = tools.find(({ name }) => textIn(name) === `mcp_f_${tool}`);
  return found && objectIn(found.input_schema);
}
