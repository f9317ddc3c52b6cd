import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { toolFunction } from '../../src/agents/tool-function.js';
import { DEFAULT_LIMITS } from '../../src/config/agent-keys.js';
import { createFsTools } from '../../src/tools/fs/index.js';
import { functionCalls, type FunctionSpec } from '../../src/core/model.js';
import { answerTo, modelRequest, userSays, CONTROL } from './offline-world.js';

const root = mkdtempSync(join(tmpdir(), 'lango-offline-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const tools = createFsTools({ roots: [root], maxReadBytes: 1_000 });
const functions: readonly FunctionSpec[] = [
  ...tools.flatMap((tool) => toolFunction(tool, { approval: 'none', limits: DEFAULT_LIMITS }).spec ?? []),
  ...CONTROL,
];

async function callsFor(text: string) {
  const { content } = await answerTo(modelRequest({ messages: [userSays(text)], functions }));
  return functionCalls(content).map(({ name, arguments: args }) => [name, args]);
}

/** The examples of the tools are what a new user tries first. */
describe('the file tools on the offline model', () => {
  it.each([
    ['read notes.txt', 'fs_read', { path: 'notes.txt' }],
    ['Show me the file notes.txt', 'fs_read', { path: 'notes.txt' }],
    ['what is in notes.txt?', 'fs_read', { path: 'notes.txt' }],
    ['list the files', 'fs_list', {}],
    ['list the files in the folder src', 'fs_list', { path: 'src' }],
    ['write hello world to notes.txt', 'fs_write', { content: 'hello world', path: 'notes.txt' }],
    ['create a file a.txt with "x and then y"', 'fs_write', { path: 'a.txt', content: 'x and then y' }],
    ['create a folder docs', 'fs_mkdir', { path: 'docs' }],
    ['search for TODO in src', 'fs_search', { pattern: 'TODO', path: 'src' }],
    ['search for TODO', 'fs_search', { pattern: 'TODO' }],
    ['find TODO in the files', 'fs_search', { pattern: 'TODO' }],
    ['replace "a b" with c in x.txt', 'fs_edit', { oldText: 'a b', newText: 'c', path: 'x.txt' }],
    ['move the file a.txt to the folder docs', 'fs_move', { from: 'a.txt', to: 'docs' }],
    ['rename a.txt to b.txt', 'fs_move', { from: 'a.txt', to: 'b.txt' }],
    ['delete a.txt', 'fs_delete', { path: 'a.txt' }],
    ['how big is a.txt?', 'fs_stat', { path: 'a.txt' }],
  ])('%s', async (text, name, args) => {
    expect(await callsFor(text)).toEqual([[name, args]]);
    const tool = tools.find((each) => each.name === name)!;
    expect(tool.schema.safeParse(args).success).toBe(true);
  });

  it.each(['create a file notes.txt', 'delete all files', 'delete everything', 'delete the folder'])(
    'makes nothing else out of "%s"',
    async (text) => {
      const [[name] = []] = await callsFor(text);
      expect(['ask_user', 'decline_request']).toContain(name);
    },
  );

  it.each(tools.flatMap(({ name, examples }) => examples.map(({ text }) => [text, name] as const)))(
    'understands its own example "%s"',
    async (text, name) => {
      const filled = text.replace(/\{(\w+)\}/g, (_, placeholder: string) => `${placeholder}.txt`);
      expect((await callsFor(filled)).map(([called]) => called)).toEqual([name]);
    },
  );
});
