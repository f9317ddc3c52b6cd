import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { makeHome, startServer } from './lango-process.js';

/** A command that takes longer than the test waits for: the stream is open when the signal comes. */
const ORDER = 'run the command sleep 30';

describe('lango serve, told to stop', () => {
  it('tells open streams how to go on, hands the task back, and ends within the drain time', async () => {
    const home = await makeHome(
      'server: { limits: { drainSeconds: 3 } }\napproval: { policy: none }\nlogging: { auditFile: audit.log }\n',
    );
    const server = await startServer(home);
    const token = (await readFile(path.join(home.folder, 'token'), 'utf8')).trim();
    const response = await fetch(`${server.origin}/message:stream`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: ORDER }] } }),
    });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = (await reader.read()).value ?? '';
    const stopped = server.stop();
    for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value;
    const { code, stderr } = await stopped;
    expect(text).toMatch(/^id: \d+$/m);
    expect(text).toContain(': the server is stopping; subscribe again with Last-Event-ID');
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('error') as unknown]);
    const audit = await readFile(path.join(home.folder, 'audit.log'), 'utf8');
    expect(JSON.parse(audit.trim())).toMatchObject({ operation: 'SendStreamingMessage', outcome: 'ok' });
    expect(audit).not.toContain('sleep');
    await home.remove();
  });
});
