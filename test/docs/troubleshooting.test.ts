import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

/** Messages in bold code, `…` where they vary. */
const messages = readFileSync('docs/troubleshooting.md', 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('**'))
  .flatMap((line) => [...line.matchAll(/`([^`]*[^`\w-][^`]*)`/g)].map(([, message]) => message!));

const sources = globSync('src/**/*.ts').map((file) => readFileSync(file, 'utf8'));

describe('docs/troubleshooting.md', () => {
  it('names many messages', () => expect(messages.length).toBeGreaterThan(35));

  it.each(messages)('%s is a message of the program', (message) => {
    const pieces = message.split('…').filter((piece) => piece.trim().length > 3);
    expect(pieces.length).toBeGreaterThan(0);
    const hasAll = sources.some((text) => pieces.every((piece) => text.includes(piece.trim())));
    expect([message, hasAll]).toEqual([message, true]);
  });
});
