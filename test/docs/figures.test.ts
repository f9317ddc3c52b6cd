import { describe, expect, it } from '@jest/globals';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect, createServer, textPart } from '../../src/index.js';

const REQUEST = 'Write "hello" into notes.md and then read notes.md';
const GREATEST_PROMPT_TOKENS = 5_500;

describe('the figures in the documentation', () => {
  it('state the tokens that the first request costs', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'lango-test-'));
    const settings = { server: { port: 0 }, tools: { browser: { enabled: false } } };
    const server = createServer({ home, settings });
    const { origin, token } = await server.start();
    try {
      const client = connect({ url: origin, token: token! });
      let input = 0;
      for await (const event of client.send({ parts: [textPart(REQUEST)] }, new AbortController().signal)) {
        if (event.type === 'end') input = event.usage.input;
      }
      expect(input).toBeGreaterThan(0);
      expect(input).toBeLessThanOrEqual(GREATEST_PROMPT_TOKENS);
      for (const page of ['README.md', 'docs/quickstart.md', 'docs/reference/cli.md']) {
        const [, named] = /completed · ([\d,]+) tokens in/.exec(await readFile(page, 'utf8'))!;
        // The name of the workspace and of the day is part of the prompt.
        const difference = Math.abs(Number(named!.replaceAll(',', '')) - input);
        expect({ page, named, input, isNear: difference < input / 100 }).toMatchObject({ isNear: true });
      }
    } finally {
      await server.stop();
      await rm(home, { recursive: true, force: true });
    }
  });
});
