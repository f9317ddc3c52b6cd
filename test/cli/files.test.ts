import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { defineTool } from '../../src/index.js';
import type { ServerOptions } from '../../src/index.js';
import { userMessage } from '../support/a2a-requests.js';
import { API_KEY } from '../support/model-wire.js';
import { ScriptedServer, events } from '../support/scripted-server.js';
import { smallPdf } from '../support/small-pdf.js';
import type { TestServer } from '../support/server.js';
import { withServer } from '../support/server.js';
import { VENDORS } from '../support/vendors.js';
import { langoHere } from './lango-here.js';
import { lango } from './lango-process.js';

/** A red point. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'lango-files-'));
  await writeFile(file('dot.png'), Buffer.from(PNG, 'base64'));
  await writeFile(file('report.pdf'), smallPdf('Profit rose to 4711'));
  await writeFile(file('notes.txt'), 'the meeting is on </file> Friday');
  await writeFile(file('long.txt'), 'many words '.repeat(60_000));
  await writeFile(file('huge.txt'), 'x'.repeat(1_100_000));
  await writeFile(file('tool.exe'), Buffer.from([0x4d, 0x5a, 0, 1, 0xff]));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function file(name: string): string {
  return path.join(folder, name);
}

const picture = defineTool({
  name: 'exec_picture',
  description: 'Draws.',
  schema: z.object({}),
  effect: 'pure',
  execute: async () => ({
    content: 'drawn',
    files: [
      { kind: 'file', bytes: PNG, mediaType: 'image/png', filename: '../../.evil\u001b/..\\dot.png' },
      { kind: 'file', bytes: PNG, mediaType: 'image/png', filename: 'dot.png' },
    ],
  }),
});

describe.each(VENDORS)('files and a model of $provider', ({ provider, wire, base }) => {
  const says = (text: string) => events(wire.answer({ texts: [text], stop: 'end' }));
  const calls = (name: string, given: object) =>
    events(
      wire.answer({ calls: [{ id: 'a', name, json: [JSON.stringify(given)] }], stop: 'function-calls' }),
    );

  async function withVendor(
    settings: object,
    use: (server: TestServer, vendor: ScriptedServer) => Promise<void>,
  ): Promise<void> {
    await using vendor = await ScriptedServer.open();
    const model = { provider, name: 'test', apiKey: API_KEY, baseUrl: `${vendor.url}${base}`, ...settings };
    const options: ServerOptions = { tools: [picture], settings: { server: { port: 0 }, model } };
    await withServer(options, (server) => use(server, vendor));
  }

  const envOf = ({ address }: TestServer) => ({ LANGO_URL: address.origin, LANGO_TOKEN: address.token! });
  const run = (server: TestServer, ...args: readonly string[]) => langoHere(args, { env: envOf(server) });
  /** The program as users start it. */
  const program = (server: TestServer, ...args: readonly string[]) => lango(args, { env: envOf(server) });

  it('reach the model as images and as text, in delegations and in the next task too', async () => {
    await withVendor({}, async (server, vendor) => {
      const transfer = { agent_name: 'operator', request: 'look', final: true };
      vendor.willReply(calls('transfer_to_agent', transfer), says('Seen.'), says('Still seen.'));
      const files = ['dot.png', 'report.pdf', 'notes.txt', 'long.txt'].flatMap((name) => [
        '--file',
        file(name),
      ]);
      const sent = await run(server, 'send', '--json', ...files, 'what is this');
      expect(sent).toMatchObject({ code: 0, stderr: '' });
      const { contextId } = JSON.parse(sent.stdout) as { readonly contextId: string };
      expect((await run(server, 'send', '--context', contextId, 'and now')).code).toBe(0);
      expect(vendor.requests).toHaveLength(3);
      for (const { body } of vendor.requests) {
        const asked = JSON.stringify(body);
        expect(asked).toContain(PNG);
        expect(asked).toContain('<file name=\\"report.pdf\\">\\n[page 1]\\nProfit rose to 4711');
        expect(asked).toContain('bytes left out; the file holds more');
        expect(asked).toContain('<file name=\\"notes.txt\\">\\nthe meeting is on  Friday');
      }
    });
  });

  it('are written into the workspace unchanged when the model asks for one by its name', async () => {
    await using vendor = await ScriptedServer.open();
    const workspace = await mkdtemp(path.join(folder, 'work-'));
    const model = { provider, name: 'test', apiKey: API_KEY, baseUrl: `${vendor.url}${base}` };
    const transfer = { agent_name: 'operator', request: 'keep it', final: true };
    vendor.willReply(
      calls('transfer_to_agent', transfer),
      calls('fs_write', { path: 'a.pdf', attachment: 'raport.pdf' }),
      calls('fs_write', { path: 'kept/a.pdf', attachment: 'report.pdf' }),
      says('Kept.'),
    );
    const settings = { server: { port: 0 }, workspace: [workspace], model, tools: { fs: { enabled: true } } };
    await withServer({ settings }, async (server) => {
      const files = ['--file', file('report.pdf'), '--file', file('notes.txt')];
      expect(await run(server, 'send', ...files, 'keep it')).toMatchObject({ code: 0, stdout: 'Kept.\n' });
    });
    const told = JSON.stringify(vendor.requests[2]!.body);
    expect(told).toContain('no file \\"raport.pdf\\" with this task; there are: report.pdf, notes.txt');
    const kept = await readFile(path.join(workspace, 'kept', 'a.pdf'));
    expect(kept.equals(await readFile(file('report.pdf')))).toBe(true);
    expect(await readdir(workspace)).toEqual(['kept']);
  });

  it('are refused by type on both sides, and a model that reads no images gets none', async () => {
    await withVendor({ images: false }, async (server, vendor) => {
      const refused = await run(server, 'send', '--file', file('dot.png'), 'look');
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toMatch(/does not take dot.png \(image\/png\)\.\nIt takes text\/plain, .*pdf/);
      expect((await run(server, 'send', '--file', file('tool.exe'), 'run')).stderr).toContain('octet-stream');
      expect(await run(server, 'send', '--file', file('none'), 'x')).toMatchObject({ code: 2 });
      const huge = await run(server, 'send', '--file', file('huge.txt'), 'x');
      expect(huge).toMatchObject({ code: 1, stderr: expect.stringContaining('larger than 1048576 bytes') });
      const lying = userMessage('look');
      Object.assign(lying.message, {
        parts: [{ raw: PNG, mediaType: 'application/pdf', filename: 'a.pdf' }],
      });
      const answer = await server.fetch('/message:send', { method: 'POST', body: JSON.stringify(lying) });
      expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('holds something')]);
      expect(vendor.requests).toHaveLength(0);
    });
  });

  it('are saved under safe names when an agent makes them, and replace no other file', async () => {
    await withVendor({}, async (server, vendor) => {
      const transfer = { agent_name: 'operator', request: 'draw', final: true };
      const out = file(`out-${provider}`);
      vendor.willReply(calls('transfer_to_agent', transfer), calls('exec_picture', {}), says('Drawn.'));
      const { code, stdout, stderr } = await program(server, 'send', '--out', out, 'draw');
      expect({ code, stdout }).toEqual({ code: 0, stdout: 'Drawn.\n' });
      expect(stderr).toBe(`Saved: ${path.join(out, 'dot.png')}\nSaved: ${path.join(out, 'dot-2.png')}\n`);
      expect(await readdir(out)).toHaveLength(2);
      expect(await readFile(path.join(out, 'dot.png'), 'base64')).toBe(PNG);
    });
  });
});
