import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { toWireError } from '../../src/a2a/translate/errors.js';
import type { ErrorCode } from '../../src/core/errors.js';
import { LangoError } from '../../src/core/errors.js';

const rows = readFileSync('docs/reference/errors.md', 'utf8')
  .split('\n')
  .filter((line) => /^\| `[a-z-]+` \| \d/.test(line))
  .map((line) =>
    line
      .split('|')
      .slice(1, 6)
      .map((cell) => cell.trim().replaceAll('`', '')),
  );

describe('docs/reference/errors.md', () => {
  it('has a row for many codes', () => expect(rows.length).toBeGreaterThan(15));

  it.each(rows)('%s is reported as the page says', (...cells) => {
    const [code, http, jsonRpc, grpc, reason] = cells;
    const error = toWireError(new LangoError(code as ErrorCode, 'why'));
    expect([error.httpStatus, error.jsonRpcCode, error.status]).toEqual([
      Number(http),
      Number(jsonRpc),
      grpc,
    ]);
    expect(error.details[0]).toMatchObject({ reason });
  });
});
