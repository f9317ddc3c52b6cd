import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { constants, deflateRawSync } from 'node:zlib';
import { smallPdf } from '../support/small-pdf.js';
import { type TestServer, withServer } from '../support/server.js';
import { unheld } from '../support/watchdog.js';

/** Foreign bytes are parsed outside the server process: no input blocks its event loop or fills its memory. */

const MIB = 1024 * 1024;
const LIMITS = { timeoutSeconds: 2, maxMemoryBytes: 256 * MIB, processes: 2 };
/** A document that takes far longer than the limit. */
const ENDLESS = nested('<div>', 8_000);

interface File {
  readonly name: string;
  readonly content: Buffer | string;
}

interface Answered {
  readonly status: number;
  readonly text: string;
}

describe('content from outside', () => {
  it.each<readonly [string, File, RegExp]>([
    [
      '40 KB of nested elements',
      { name: 'a.html', content: ENDLESS },
      /^408 .*longer than 2 seconds.*parsing\.timeoutSeconds/,
    ],
    [
      'nested quotes',
      { name: 'a.html', content: nested('<blockquote>', 3_400) },
      /^(200 .*cannot be read|408 )/,
    ],
    ['a table of 30,000 rows', { name: 'a.html', content: table(30_000) }, /^(200 |408 |413 )/],
    ['5,000 lines of text', { name: 'a.txt', content: 'some words in it\n'.repeat(5_000) }, /^200 .*added/],
    [
      'a PDF that unpacks to 600 MB',
      { name: 'a.pdf', content: pdfBomb(600 * MIB) },
      /^413 .*more than 256 MiB.*maxMemoryBytes/,
    ],
  ])('never blocks the event loop of the server: %s', async (_, file, expected) => {
    const parsing = file.name.endsWith('.pdf') ? { ...LIMITS, timeoutSeconds: 25 } : LIMITS;
    await withServer({ settings: { parsing } }, async (server) => {
      await put(server, { name: 'warm.html', content: '<h1>Title</h1><p>Words.</p>' });
      const { result, grownBytes } = await unheld(() => put(server, file));
      expect(`${result.status} ${result.text}`).toMatch(expected);
      expect(grownBytes).toBeLessThan(200 * MIB);
      expect((await put(server, { name: 'b.pdf', content: smallPdf('Fine') })).text).toContain('added');
    });
  });

  it('is refused beyond a number of waiting files, and the others are read', async () => {
    await withServer({}, async (server) => {
      const all = Array.from({ length: 50 }, (_, at) =>
        put(server, { name: `${at}.html`, content: `<p>Number ${at}.</p>` }),
      );
      const statuses = (await Promise.all(all)).map(({ status }) => status);
      expect(new Set(statuses)).toEqual(new Set([200, 429]));
      expect((await put(server, { name: 'b.html', content: '<p>Later.</p>' })).text).toContain('added');
    });
  });

  it('is given up when its process is killed, and when its caller leaves', async () => {
    await withServer({ settings: { parsing: { ...LIMITS, timeoutSeconds: 60 } } }, async (server) => {
      const asked = put(server, { name: 'a.html', content: ENDLESS });
      process.kill(await untilParsing(1), 'SIGKILL');
      expect(await asked).toMatchObject({ status: 503, text: expect.stringContaining('Try again') });
      const leaving = new AbortController();
      const left = put(server, { name: 'a.html', content: ENDLESS }, leaving.signal).catch(() => 'left');
      await untilParsing(1);
      leaving.abort();
      expect(await left).toBe('left');
      await untilParsing(0);
      expect((await put(server, { name: 'b.html', content: '<p>Later.</p>' })).text).toContain('added');
    });
  });
});

async function put(server: TestServer, { name, content }: File, signal?: AbortSignal): Promise<Answered> {
  const answer = await server.fetch(`/lango/documents/team?origin=file:///${name}&name=${name}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/octet-stream' },
    body: typeof content === 'string' ? content : new Uint8Array(content),
    ...(signal ? { signal } : {}),
  });
  return { status: answer.status, text: await answer.text() };
}

/** Resolves with the parsing process once there are so many. */
async function untilParsing(count: number): Promise<number> {
  for (let round = 0; round < 2_000; round += 1) {
    const lines = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(process.pid)], {
      encoding: 'utf8',
    });
    const found = lines.split('\n').filter((line) => line.includes('parser-entry'));
    if (found.length === count) return Number.parseInt(found[0] ?? '0', 10);
    await sleep(50);
  }
  throw new Error(`there were never ${count} processes that parse`);
}

function nested(open: string, depth: number): string {
  return `<html><body>${open.repeat(depth)}x</body></html>`;
}

function table(rows: number): string {
  return `<table>${'<tr><td>a</td><td>b</td><td>c</td></tr>'.repeat(rows)}</table>`;
}

/** A PDF whose page has a stream that unpacks to so many bytes. */
function pdfBomb(bytes: number): Buffer {
  const block = deflateRawSync(Buffer.alloc(MIB, ' '), { finishFlush: constants.Z_FULL_FLUSH });
  // The header of zlib, and the blocks. The last one and the checksum are missing, as in a file that was cut.
  const stream = Buffer.concat([Buffer.of(0x78, 0xda), ...Array<Buffer>(bytes / MIB).fill(block)]);
  const [head = '', tail = ''] = smallPdf('MARK')
    .toString('latin1')
    .split(/<< \/Length \d+ >>\nstream\n.*MARK.*\nendstream/);
  const dictionary = `<< /Length ${stream.length} /Filter /FlateDecode >>\nstream\n`;
  return Buffer.concat([Buffer.from(head + dictionary), stream, Buffer.from(`\nendstream${tail}`)]);
}
