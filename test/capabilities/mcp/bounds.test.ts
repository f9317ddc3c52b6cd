import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AcceptedTools } from '../../../src/capabilities/mcp/accepted.js';
import { boundedFetch } from '../../../src/capabilities/mcp/connection.js';

let home = '';
beforeAll(async () => void (home = await mkdtemp(path.join(tmpdir(), 'lango-mcp-'))));
afterAll(() => rm(home, { recursive: true, force: true }));

function reading(type: string, ...pieces: readonly string[]): Promise<string> {
  const body = ReadableStream.from(pieces.map((piece) => Buffer.from(piece)));
  const answer = new Response(body as ReadableStream, { headers: { 'content-type': type } });
  return boundedFetch(() => Promise.resolve(answer))('http://a.example').then((response) => response.text());
}

describe('the event stream of an MCP server', () => {
  it('is read unchanged, and ends at a message that is too long or at a flood', async () => {
    const events = 'data: {}\n\n'.repeat(200);
    expect(await reading('text/event-stream; charset=utf-8', events, 'data: x\n')).toBe(`${events}data: x\n`);
    const long = Array<string>(30).fill('x'.repeat(100_000));
    await expect(reading('text/event-stream', ...long)).rejects.toMatchObject({ code: 'too-large' });
    await expect(reading('Text/Event-Stream', ':\n'.repeat(501))).rejects.toMatchObject({
      code: 'too-large',
    });
    expect(await reading('application/json', ':\n'.repeat(501))).toHaveLength(1_002);
  });
});

describe('the accepted tools of an MCP server', () => {
  it('are limited on disk: after 1,000 definitions further tools are held back', async () => {
    const file = path.join(home, 'far.json');
    const accepted = new AcceptedTools(file, 'far');
    const toolsFrom = (start: number) =>
      Array.from({ length: 100 }, (_, n) => ({
        name: `t${start + n}`,
        inputSchema: { type: 'object' as const },
      }));
    for (let start = 0; start < 3_000; start += 100) {
      const verdicts = await accepted.judge(toolsFrom(start));
      expect(new Set(verdicts.values())).toEqual(new Set([start < 1_000 ? 'new' : 'changed']));
    }
    expect(new Set((await accepted.judge(toolsFrom(900))).values())).toEqual(new Set(['accepted']));
    const kept = JSON.parse(await readFile(file, 'utf8')) as {
      readonly tools: object;
      readonly held: object;
    };
    expect([Object.keys(kept.tools).length, Object.keys(kept.held).length]).toEqual([1_000, 1_000]);
  });
});
