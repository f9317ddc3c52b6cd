import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

async function example(name: string): Promise<string> {
  const { stdout } = await run(process.execPath, [`dist/examples/${name}.js`], { timeout: 25_000 });
  return stdout;
}

describe('the examples', () => {
  it('own-agent: the orchestrator delegates to an agent of the program', async () => {
    const output = await example('own-agent');
    expect(output).toMatch(/^lango-orchestrator asks dice\nYou rolled [1-6], [1-6], [1-6]\.\n$/);
  });

  it('stock-executor: an executor of the stock SDK answers, and its stream is replayed', async () => {
    expect(await example('stock-executor')).toMatch(/^HELLO THERE\nreplayed [1-9]\d* events\n$/);
  });

  it('own-tool-and-model: the flat agent uses both', async () => {
    expect(await example('own-tool-and-model')).toBe('lango-agent: In Oslo the sun shines, 21 degrees.\n');
  });

  it('mounted: an express app serves agents below a path, beside pages of its own', async () => {
    expect(await example('mounted')).toBe('a page of the app\nYou said: hello\n');
  });

  it('push-receiver: takes what the server sends, and nothing else', async () => {
    expect(await example('push-receiver')).toMatch(
      /^[1-9]\d* notifications, the last: TASK_STATE_COMPLETED\nforged: 403\n$/,
    );
  });
});
