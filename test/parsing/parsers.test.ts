import { describe, expect, it, jest } from '@jest/globals';
import { NodeHtmlMarkdown } from 'node-html-markdown';
import { Parsers } from '../../src/parsing/parsers.js';
import { holdTime } from '../support/held-time.js';

const ENDLESS = '<div>'.repeat(8_000);
const LIMITS = { timeoutSeconds: 1, maxMemoryBytes: 256 * 1024 * 1024, processes: 1 };
const of = (owner: string, signal = new AbortController().signal) => ({
  scope: { tenant: '', owner },
  signal,
});

describe('parsers', () => {
  it('take turns between owners: the second waits for one input of the first, not for all', async () => {
    const parsers = new Parsers(LIMITS);
    const ends: string[] = [];
    const parse = async (owner: string, html: string): Promise<void> => {
      const end = await parsers.parse('html', html, of(owner)).catch(({ code }: { code: string }) => code);
      ends.push(`${owner}: ${end}`);
    };
    await Promise.all([parse('a', ENDLESS), parse('a', ENDLESS), parse('b', '<h1>Mine</h1>')]);
    expect(ends).toEqual(['a: timeout', 'b: # Mine', 'a: timeout']);
    parsers.close();
  });

  it('measure the time of an input from the moment its process is ready', async () => {
    using _held = holdTime();
    const parsers = new Parsers(LIMITS);
    const parsed = parsers.parse('html', '<p>a</p>', of('a'));
    jest.advanceTimersByTime(10 * 1_000 * LIMITS.timeoutSeconds);
    expect(await parsed).toBe('a');
    parsers.close();
  });

  it('refuse an owner with too many inputs, and not the next one', async () => {
    const parsers = new Parsers(LIMITS);
    const many = Array.from({ length: 20 }, () => parsers.parse('html', '<p>a</p>', of('a')));
    const other = parsers.parse('html', '<p>b</p>', of('b'));
    const settled = await Promise.allSettled(many);
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(9);
    expect(settled.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'too-many', retryable: true },
    });
    expect(await other).toBe('b');
    parsers.close();
  });

  it('end running and waiting work when they are closed, and accept no more', async () => {
    const parsers = new Parsers(LIMITS);
    const both = [parsers.parse('html', ENDLESS, of('a')), parsers.parse('html', ENDLESS, of('a'))];
    const settled = Promise.allSettled(both);
    parsers.close();
    const stopping = { status: 'rejected', reason: { code: 'unavailable' } };
    expect(await settled).toMatchObject([stopping, stopping]);
    await expect(parsers.parse('html', '', of('a'))).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('drop an input whose caller leaves while it waits', async () => {
    const parsers = new Parsers(LIMITS);
    const leaving = new AbortController();
    const first = parsers.parse('html', '<p>a</p>', of('a'));
    const second = parsers.parse('html', '<p>b</p>', of('a', leaving.signal));
    leaving.abort(new Error('gone'));
    await expect(second).rejects.toThrow('gone');
    expect(await first).toBe('a');
    parsers.close();
  });

  it('convert a page of 3 MB as the library does', async () => {
    const parsers = new Parsers({ ...LIMITS, timeoutSeconds: 60, maxMemoryBytes: 512 * 1024 * 1024 });
    const section = `<h2>One</h2><p>The <b>quick</b> <a href="/x">fox</a> &amp; <code>a_b</code>, <i>often</i>.<br>Next</p>
      <ul><li>one<ol><li>in</li><li></li></ol></li><li>two</li></ul><blockquote>said</blockquote><div></div>
      <table><tr><th>a</th><th>b|c</th></tr><tr><td>1</td><td></td></tr></table><pre><code>x\n\n\n\n\n\ny</code></pre>`;
    const [page, long] = [10, 1_700].map(
      (times) =>
        `<body>${`${section}<p>${'Some words of a long page. '.repeat(60)}</p>`.repeat(times)}</body>`,
    );
    const own = await parsers.parse('html', page!, of('a'));
    expect(own).toBe(NodeHtmlMarkdown.translate(page!).trim());
    expect(long!.length).toBeGreaterThan(3_000_000);
    expect(await parsers.parse('html', long!, of('a'))).toContain('[fox](/x)');
    parsers.close();
  });
});
