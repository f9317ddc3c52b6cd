import { expect } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { newId } from '../../../src/core/ids.js';
import { listIn, objectIn, textIn, type JsonObject } from '../../../src/core/json.js';
import { estimateTokens } from '../../../src/core/text.js';
import { call, resultsIn, say, ScriptedModel } from '../../support/scripted-model.js';
import { decide, sendText, startServer } from '../../support/server.js';
import type { RawMcpServer } from '../mcp-server.js';
import { openServer, text } from '../mcp-tools.js';
import type { Quirk } from '../quirk.js';
import { ask, type Sent, type Told } from '../strict-vendor.js';
import { MODEL_WIRES, type ModelWireName } from '../vendor-streams.js';

const SEARCH = { class: 21, vendor: 'MCP servers', source: 'anthropics/claude-code#7336' } as const;
const MOST_TOKENS = 12_000;
const FIND = 'find_functions';

const VERBS = ['list', 'get', 'create', 'update', 'delete', 'search', 'archive', 'share'];
const NOUNS = {
  code: ['issues', 'pull_requests', 'branches', 'commits', 'releases'],
  tickets: ['tickets', 'sprints', 'boards', 'comments', 'worklogs', 'epics'],
  files: ['documents', 'folders', 'spreadsheets', 'slides', 'permissions'],
};

/** A definition about as long as those of real servers. */
function definition(verb: string, noun: string): JsonObject {
  const about = `with the filters and the fields that the caller gives, ordered by the time of the last change`;
  const names = ['id', 'filter', 'fields', 'cursor', 'limit', 'include_archived'];
  const properties = names.map((name) => [
    name,
    {
      type: 'string',
      description: `The ${name} of the ${noun}, in the form that the service documents for it.`,
    },
  ]);
  return {
    name: `${verb}_${noun}`,
    description: `Use this to ${verb} ${noun.replace('_', ' ')} ${about}.`,
    inputSchema: { type: 'object', properties: Object.fromEntries(properties) as JsonObject },
    annotations: { readOnlyHint: true },
  };
}

let servers: Promise<Readonly<Record<string, RawMcpServer>>> | undefined;

/** Three servers with 128 tools in all. */
function threeServers() {
  return (servers ??= Promise.all(
    Object.entries(NOUNS).map(async ([name, nouns]) => {
      const tools = nouns.flatMap((noun) => VERBS.map((verb) => definition(verb, noun)));
      const server = await openServer({ list: () => ({ tools }), call: (tool) => text(`did ${tool}`) });
      return [name, server] as const;
    }),
  ).then((entries) => Object.fromEntries(entries)));
}

async function settingsWith(more: JsonObject = {}) {
  const open = Object.entries(await threeServers());
  const entries = open.map(([name, { url }]) => [name, { url, approval: 'never' as const }] as const);
  return { mcp: { servers: Object.fromEntries(entries) }, agent: { multiAgent: false, ...more } };
}

/** The functions of a request, without the mark of the cache, which is on the last one. */
function toolsIn({ body }: Sent): readonly JsonObject[] {
  return listIn(body.tools).map((tool) => ({ ...objectIn(tool), cache_control: undefined }));
}

function namesIn(sent: Sent): readonly string[] {
  return toolsIn(sent).map((tool) => textIn(tool.name) || textIn(objectIn(tool.function).name));
}

const found = (query: string) => ({ calls: [{ name: FIND, arguments: { query } }] });
const DONE = { text: 'Done.' };

interface Search {
  readonly wire: ModelWireName;
  readonly answers: Parameters<typeof ask>[0]['answers'];
  readonly contextId?: string;
}

const searching = async (search: Search): Promise<Told> => ask({ ...search, settings: await settingsWith() });

const ON_EACH_WIRE = MODEL_WIRES.flatMap((wire): readonly Quirk[] => [
  {
    ...SEARCH,
    ...{ id: `search-size-${wire}`, wire },
    quirk: 'Three servers have 128 tools, whose descriptions alone take 30,000 tokens.',
    right: `A request has less than ${MOST_TOKENS} tokens, and names what a search finds.`,
    async check() {
      const told = await searching({ wire, answers: [DONE] });
      const sent = told.requests[0]!;
      const own = namesIn(sent).filter((name) => name.startsWith('mcp_'));
      expect([told.refused, own]).toEqual([[], []]);
      expect(namesIn(sent)).toEqual(expect.arrayContaining([FIND, 'fs_read', 'crypto_verify', 'ask_user']));
      expect(estimateTokens(JSON.stringify(sent.body))).toBeLessThan(MOST_TOKENS);
      expect(JSON.stringify(sent.body)).toMatch(
        /There are 128 that are not described here: .*server tickets/,
      );
    },
  },
  {
    ...SEARCH,
    ...{ id: `search-found-${wire}`, wire },
    quirk: 'The model needs one tool of 128.',
    right: 'It finds the tool, gets its schema from then on, and calls it under its own name.',
    async check() {
      const name = 'mcp_tickets_update_sprints';
      const answers = [found('change a sprint'), { calls: [{ name, arguments: { id: '7' } }] }, DONE];
      const told = await searching({ wire, answers });
      expect([told.refused, told.state]).toEqual([[], 'completed']);
      expect(told.results).toEqual([expect.stringContaining(`${name}: `), 'did update_sprints']);
      const [first, second, third] = told.requests;
      expect(namesIn(second!)).toContain(name);
      expect(toolsIn(third!)).toEqual(toolsIn(second!));
      // The beginning of the list is in the vendor's cache.
      expect(toolsIn(second!).slice(0, toolsIn(first!).length)).toEqual(toolsIn(first!));
      expect((await threeServers())['tickets']!.got.get('update_sprints')).toEqual({ id: '7' });
    },
  },
]);

const ONCE: readonly Quirk[] = [
  {
    ...{ id: 'search-later', wire: 'Messages', ...SEARCH },
    quirk: 'A tool was found in an earlier task of the conversation.',
    right: 'It is described in the next task without a search.',
    async check() {
      const first = await searching({ wire: 'Messages', answers: [found('list_epics'), DONE] });
      const { contextId } = first;
      const second = await searching({ wire: 'Messages', answers: [DONE], contextId });
      expect(namesIn(second.requests[0]!)).toContain('mcp_tickets_list_epics');
    },
  },
  {
    ...{ id: 'search-unfound', wire: 'Messages', ...SEARCH },
    quirk: 'The model calls a tool that it did not search for.',
    right: 'The call is checked and made like any other, and the tool is described from then on.',
    async check() {
      const name = 'mcp_files_get_slides';
      const wrong = { calls: [{ name, arguments: { page: 1 } }] };
      const right = { calls: [{ name, arguments: { id: '3' } }] };
      const told = await searching({ wire: 'Messages', answers: [wrong, right, DONE] });
      expect(told.results).toEqual([expect.stringContaining('unknown argument page'), 'did get_slides']);
      expect(namesIn(told.requests[1]!)).toContain(name);
    },
  },
  {
    ...{ id: 'search-nothing', wire: 'Messages', ...SEARCH },
    quirk: 'The words of a search are in no description.',
    right: 'The model reads the names of all functions.',
    async check() {
      const told = await searching({ wire: 'Messages', answers: [found('quaternion'), DONE] });
      expect(told.results[0]).toMatch(/^Nothing was found.*mcp_code_list_issues, .*mcp_files_/);
    },
  },
  {
    ...{ id: 'search-few', wire: 'Messages', ...SEARCH },
    quirk: 'There are no more tools than the setting allows.',
    right: 'All are described, and there is no search.',
    async check() {
      const settings = await settingsWith({ describedTools: 128 });
      const told = await ask({ wire: 'Messages', settings, answers: [DONE] });
      const names = namesIn(told.requests[0]!);
      expect(names.filter((name) => name.startsWith('mcp_'))).toHaveLength(128);
      expect(names).not.toContain(FIND);
    },
  },
  {
    ...{ id: 'search-restart', wire: 'MCP', ...SEARCH },
    quirk: 'The server starts again while a person is asked about a call of a tool that was found.',
    right: 'The run goes on with the same functions, and the person is asked once, by the name of the tool.',
    async check() {
      const home = await mkdtemp(path.join(tmpdir(), 'lango-search-'));
      const name = 'mcp_code_delete_branches';
      const flat = [call([FIND, { query: 'delete branches' }]), call([name, { id: '1' }]), say('Done.')];
      const options = async () => ({
        home,
        model: new ScriptedModel({ flat }),
        settings: { ...(await settingsWith()), server: { port: 0 }, approval: { policy: 'all' as const } },
      });
      const before = await options();
      const one = await startServer(before);
      const asked = await sendText(one, 'delete it', { contextId: newId() });
      expect(asked.end.questions).toMatchObject([{ tool: name, arguments: { id: '1' } }]);
      await one.stop();
      const after = await options();
      const two = await startServer(after);
      try {
        await decide(two, asked, { decision: 'approve' });
        const last = after.model.requests.at(-1)!;
        expect(resultsIn(last)).toEqual(['did delete_branches']);
        expect(last.functions.map((one) => one.name)).toEqual(
          before.model.requests.at(-1)!.functions.map((one) => one.name),
        );
      } finally {
        await two.stop();
        await rm(home, { recursive: true, force: true });
      }
    },
  },
];

export const TOOL_SEARCH: readonly Quirk[] = [...ON_EACH_WIRE, ...ONCE];
