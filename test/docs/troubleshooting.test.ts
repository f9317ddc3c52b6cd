import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

/** The messages in bold code on the page, with `…` for their variable parts. */
const messages = readFileSync('docs/troubleshooting.md', 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('**'))
  .flatMap((line) => [...line.matchAll(/`([^`]*[^`\w-][^`]*)`/g)].map(([, message]) => message!));

const sources = globSync('src/**/*.ts').map((file) => readFileSync(file, 'utf8'));

describe('docs/troubleshooting.md', () => {
  it('has more than a few messages', () => expect(messages.length).toBeGreaterThan(35));

  it.each(messages)('quotes a message of the program: %s', (message) => {
    const pieces = message.split('…').filter((piece) => piece.trim().length > 3);
    expect(pieces.length).toBeGreaterThan(0);
    const hasAll = sources.some((text) => pieces.every((piece) => text.includes(piece.trim())));
    expect([message, hasAll]).toEqual([message, true]);
  });
});
