import { describe, expect, it } from '@jest/globals';
import { EVENT_LIMIT } from '../../src/models/exchange.js';
import { readEvents, type ServerEvent } from '../../src/core/server-events.js';

async function read(...chunks: readonly string[]): Promise<readonly ServerEvent[]> {
  async function* bytes() {
    for (const chunk of chunks) yield Buffer.from(chunk, 'latin1');
  }
  const events: ServerEvent[] = [];
  for await (const event of readEvents(bytes(), EVENT_LIMIT)) events.push(event);
  return events;
}

describe('a reader of server-sent events', () => {
  it('accepts LF, CRLF and CR as line breaks, also when split', async () => {
    const expected = [
      { name: 'a', data: '1' },
      { name: '', data: '2' },
    ];
    await expect(read('event: a\ndata: 1\n\ndata: 2\n\n')).resolves.toEqual(expected);
    await expect(read('event: a\r', '\ndata: 1\r', '\n\r\nda', 'ta: 2\r\n\r\n')).resolves.toEqual(expected);
    await expect(read('event: a\rdata: 1\r\rdata: 2\r\r', '\n')).resolves.toEqual(expected);
  });

  it('joins data lines, and removes one leading space', async () => {
    await expect(read('data:a\ndata:  b\ndata\n\n')).resolves.toEqual([{ name: '', data: 'a\n b\n' }]);
  });

  it('skips comments, unknown fields, a byte order mark and events without data', async () => {
    await expect(read('\xef\xbb\xbf: hi\nid: 1\nretry: 5\n\nevent: a\n\ndata: 1\n\n')).resolves.toEqual([
      { name: '', data: '1' },
    ]);
  });

  it('reads a last event without its empty line, but no unfinished line', async () => {
    await expect(read('data: 1\n')).resolves.toEqual([{ name: '', data: '1' }]);
    await expect(read('data: 1\n\ndata: {"cut')).resolves.toEqual([{ name: '', data: '1' }]);
  });

  it('rejects an endless line instead of buffering it', async () => {
    const megabyte = 'x'.repeat(1024 * 1024);
    await expect(read('data: ', ...Array<string>(9).fill(megabyte))).rejects.toThrow(
      'more than 1048576 characters',
    );
    const lines = 'data: x\n'.repeat(600_000);
    await expect(read(lines)).rejects.toThrow('more than 1048576 characters');
  });
});
