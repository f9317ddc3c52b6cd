import { describe, expect, it } from '@jest/globals';
import { tokenCredential } from '../../../src/core/credential.js';
import { createOriginFetch } from '../../../src/core/origin-fetch.js';

function bound(status: number, seen: string[] = [], headers: Record<string, string> = {}): typeof fetch {
  return createOriginFetch({
    origin: 'https://a.example',
    credential: tokenCredential('secret'),
    fetch: async (input, init) => {
      seen.push(`${input instanceof Request ? input.url : input.toString()} ${String(init?.redirect)}`);
      return new Response('x', { status, headers });
    },
  });
}

describe('createOriginFetch', () => {
  it('refuses any other origin, also another port or scheme of the same host', async () => {
    const seen: string[] = [];
    const ask = bound(200, seen);
    for (const url of [
      'https://b.example/',
      'https://a.example:444/',
      'http://a.example/',
      'https://a.example.b/',
    ]) {
      await expect(ask(url)).rejects.toMatchObject({ code: 'forbidden' });
      await expect(ask(new Request(url))).rejects.toMatchObject({ code: 'forbidden' });
    }
    expect(seen).toEqual([]);
    expect((await ask('https://a.example/x')).status).toBe(200);
    expect(seen).toEqual(['https://a.example/x error']);
  });

  it.each([
    [401, 'unauthenticated', undefined],
    [403, 'forbidden', undefined],
    [429, 'too-many', 3_000],
    [503, 'too-many', 3_000],
    [502, 'unavailable', undefined],
  ])('reports status %d as %s', async (status, code, retryAfterMs) => {
    const ask = bound(status, [], { 'retry-after': '3' });
    await expect(ask('https://a.example/')).rejects.toMatchObject({ code, retryAfterMs });
  });

  it('returns other responses, also those whose body holds an error of the protocol', async () => {
    for (const status of [200, 400, 404, 409, 500]) {
      expect((await bound(status)('https://a.example/')).status).toBe(status);
    }
  });
});
