import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Capture } from '../../../../src/capabilities/workspace/exec/capture.js';

function captured(limit: number, chunks: readonly (string | Uint8Array)[]): Capture {
  const capture = new Capture(limit);
  for (const chunk of chunks) capture.append(Buffer.from(chunk as string));
  return capture;
}

describe('Capture', () => {
  it('returns everything within its limit, for any chunks', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 12 }), { maxLength: 10 }), (chunks) => {
        const whole = Buffer.from(chunks.join(''));
        const capture = captured(Math.max(1, whole.length), chunks);
        expect(capture.text('x')).toBe(whole.toString('utf8'));
        expect(capture.totalBytes).toBe(whole.length);
      }),
    );
  });

  it('keeps exactly the first and the last bytes of more, and counts the rest', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 12 }), (arrays) => {
        const chunks = arrays.map((array) => array.map((byte) => 97 + (byte % 26)));
        const whole = Buffer.concat(chunks);
        const text = captured(10, chunks).text('ask');
        const left = `\n[… ${whole.length - 10} bytes left out; ask …]\n`;
        const cut = whole.subarray(0, 7).toString() + left + whole.subarray(-3).toString();
        expect(text).toBe(whole.length > 10 ? cut : whole.toString());
      }),
    );
  });

  it('never splits a character at the mark', () => {
    const text = captured(10, ['äöü'.repeat(20)]).text('x');
    expect(text).not.toContain('\uFFFD');
    expect(text).toMatch(/^äöü\n\[… 112 bytes/);
  });

  it('is read in slices: whole characters, the gap skipped, each byte once', () => {
    const capture = captured(1000, ['aä€𝄞'.repeat(10)]);
    let text = '';
    for (let offset = 0; offset < capture.totalBytes;) {
      const slice = capture.slice(offset, 5);
      expect(slice.nextOffset).toBeGreaterThan(offset);
      text += slice.text;
      offset = slice.nextOffset;
    }
    expect(text).toBe('aä€𝄞'.repeat(10));
    const cut = captured(10, ['0123456789abcdefghij']);
    expect(cut.slice(0, 99)).toEqual({ text: '0123456', offset: 0, nextOffset: 7 });
    expect(cut.slice(7, 99)).toEqual({ text: 'hij', offset: 17, nextOffset: 20 });
    expect(cut.slice(18, 99)).toEqual({ text: 'ij', offset: 18, nextOffset: 20 });
  });
});
