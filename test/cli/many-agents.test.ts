import { expect, it } from '@jest/globals';
import { once } from 'node:events';
import { fork } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { describeHolds, isTooLong, type Hold } from '../../lab/watchdog.js';
import { built } from '../support/built.js';
import { until } from '../support/until.js';
import { cleanEnv, mainFile } from './lango-process.js';

const AGENTS = 5_000;
const URL_OF_NOBODY = 'http://127.0.0.1:1/';

/** Loaded into the server before it starts: answers each message with how long its event loop was blocked since the last. */
const PROBE = `data:text/javascript,${encodeURIComponent(`
  import { Watchdog } from '${pathToFileURL(built('lab/watchdog.js')).href}';
  const watchdog = new Watchdog();
  process.on('message', () => process.send(watchdog.take()));
  process.channel.unref();
`)}`;

it(`reads ${AGENTS} remote agents anew, and one more, and never blocks the event loop`, async () => {
  const agents = Array.from({ length: AGENTS }, (_, at) => {
    return { name: `far${at}`, url: URL_OF_NOBODY + at, token: `token-of-${at}`, description: 'far' };
  });
  const run = async (): Promise<Hold> => {
    const home = await mkdtemp(path.join(tmpdir(), 'lango-agents-'));
    await writeFile(path.join(home, 'added-agents.json'), JSON.stringify(agents), { mode: 0o600 });
    const args = ['serve', '--home', home, '--port', '0'];
    const server = fork(mainFile(), args, { execArgv: ['--import', PROBE], env: cleanEnv(), silent: true });
    try {
      let said = '';
      for (const stream of [server.stdout!, server.stderr!])
        stream.on('data', (piece: Buffer) => (said += String(piece)));
      const reloads = (): number => said.split('reloaded the configuration').length - 1;
      await until(() => /^ready /m.test(said));
      const [, origin = ''] = /^ready (\S+)/m.exec(said)!;
      const measure = async (): Promise<Hold> => {
        const answer = once(server, 'message');
        server.send('measure');
        return ((await answer) as [Hold])[0];
      };
      const token = (await readFile(path.join(home, 'token'), 'utf8')).trim();
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const list = async (): Promise<string> => (await fetch(`${origin}/lango/agents`, { headers })).text();
      // A start loads the program, and the first request its web server, which takes longer.
      await list();
      await measure();
      const body = JSON.stringify({ name: 'another', url: URL_OF_NOBODY });
      const added = await fetch(`${origin}/lango/agents`, { method: 'POST', body, headers });
      expect(await added.text()).toContain('"state":"skipped"');
      const before = reloads();
      server.kill('SIGHUP');
      await until(() => reloads() > before);
      expect(await list()).toContain(`far${AGENTS - 1}`);
      return await measure();
    } finally {
      const exit = once(server, 'exit');
      server.kill('SIGKILL');
      await exit;
      await rm(home, { recursive: true, force: true });
    }
  };
  const first = await run();
  if (!isTooLong(first)) return;
  const again = await run();
  if (isTooLong(again)) throw new Error(describeHolds(first, again));
});
