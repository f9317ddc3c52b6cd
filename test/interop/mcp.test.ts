import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { JsonObject } from '../../src/core/json.js';
import { lango } from '../cli/lango-process.js';
import { freePort } from '../support/free-port.js';
import { Obedient, untilOffered } from '../support/obedient-model.js';
import { sendText, startServer, type TestServer } from '../support/server.js';
import { describeWith } from './framework.js';

/** Servers of the MCP project, and one of its SDK, as tools. */
describeWith('mcp', () => {
  const folder = path.join(process.env['LANGO_TEST_FRAMEWORKS'] ?? '', 'mcp');
  const packages = path.join(folder, 'node_modules', '@modelcontextprotocol');
  const everything = path.join(packages, 'server-everything', 'dist', 'index.js');
  const program = (...args: string[]) => ({
    command: process.execPath,
    args,
    readable: [path.dirname(process.execPath), folder],
  });
  let server: TestServer;
  let overHttp: ReturnType<typeof spawn>;

  beforeAll(async () => {
    const modern = path.join(folder, 'mcp-modern.mjs');
    await copyFile(path.join(import.meta.dirname, 'peers', 'mcp-modern.mjs'), modern);
    const port = await freePort();
    const env = { PATH: process.env['PATH'], PORT: String(port) };
    overHttp = spawn(process.execPath, [everything, 'streamableHttp'], { env, stdio: 'ignore' });
    const servers = {
      modern: program(modern),
      files: program(path.join(packages, 'server-filesystem', 'dist', 'index.js'), '.'),
      everything: program(everything),
      web: { url: `http://127.0.0.1:${port}/mcp` },
    };
    for (let tries = 0; tries < 1_000 && !(await answers(port)); tries += 1) await sleep(100);
    const model = new Obedient();
    // All of them in each request, instead of found by a search.
    const agent = { describedTools: 200 };
    server = await startServer({ model, settings: { server: { port: 0 }, agent, mcp: { servers } } });
    for (const name of Object.keys(servers)) await untilOffered(`mcp_${name}_`, model, server);
  });
  afterAll(async () => {
    await server.stop();
    overHttp.kill();
    await once(overHttp, 'close');
  });

  const ask = async (tool: string, given: JsonObject = {}) =>
    (await sendText(server, `mcp_${tool} ${JSON.stringify(given)}`, { agent: 'operator' })).end.text;

  it('the filesystem server reads and lists what is in its folder, and nothing outside', async () => {
    const own = path.join(server.home, 'mcp', 'files');
    await mkdir(own, { recursive: true });
    await writeFile(path.join(own, 'a.txt'), 'the text of a');
    expect(await ask('files_list_directory', { path: '.' })).toContain('[FILE] a.txt');
    expect(await ask('files_read_text_file', { path: 'a.txt' })).toBe('the text of a');
    expect(await ask('files_read_text_file', { path: '/etc/passwd' })).toContain('denied');
  });

  it('lango send uses the filesystem server: it reads at once, and writes after an approval', async () => {
    const { origin, token = '' } = server.address;
    const env = { LANGO_URL: origin, LANGO_TOKEN: token, LANGO_HOME: server.home };
    const send = (text: string, ...flags: string[]) =>
      lango(['send', '--agent', 'operator', ...flags, text], { env });
    const write = 'mcp_files_write_file {"path":"b.txt","content":"by send"}';
    expect(await send(write)).toMatchObject({ code: 4 });
    expect(await send(write, '--yes')).toMatchObject({ code: 0 });
    const read = await send('mcp_files_read_text_file {"path":"b.txt"}');
    expect(read).toMatchObject({ code: 0, stdout: expect.stringContaining('by send') });
  });

  it.each(['everything', 'web'])(
    'the everything server, as %s, responds, sends a picture, and reports its progress',
    async (name) => {
      expect(await ask(`${name}_echo`, { message: 'hi' })).toContain('hi');
      expect(await ask(`${name}_get_sum`, { a: 2, b: 3 })).toContain('5');
      expect(await ask(`${name}_get_tiny_image`)).toContain('kept as a file of the task');
      expect(await ask(`${name}_trigger_long_running_operation`, { duration: 1, steps: 2 })).toContain(
        'completed',
      );
    },
  );

  it('a server of the SDK 2 is called in the version of 2026', async () => {
    expect(await ask('modern_add', { a: 1, b: 2 })).toBe('3 by an envelope');
    expect(await ask('modern_add', { a: 'x', b: 2 })).toContain('argument a');
  });
});

function answers(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/mcp`).then(
    () => true,
    () => false,
  );
}
