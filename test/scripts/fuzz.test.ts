import { describe, expect, it } from '@jest/globals';
import { fuzz } from '../../scripts/fuzz/fuzz.js';

describe('npm run fuzz, for a short while', () => {
  it('finds no crash, no rejection, no 5xx, no HTML and no stack; nothing refused is stored', async () => {
    const figures = await fuzz({ seed: 7, seconds: 15, requests: 600, slowMs: 10_000 });
    expect(figures.findings).toEqual([]);
    expect(Object.keys(figures.transports).sort()).toEqual(['HTTP+JSON', 'JSON-RPC', 'paths', 'sockets']);
  });
});
