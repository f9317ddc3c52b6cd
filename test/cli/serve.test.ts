import { describe, expect, it } from '@jest/globals';
import Database from 'better-sqlite3';
import { spawn } from 'node:child_process';
import { chmod, mkdir, readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { AUDIENCE, startIssuer } from '../support/issuer.js';
import { freePort } from '../support/free-port.js';
import { langoHere, startServerHere } from './lango-here.js';
import type { Result } from './lango-process.js';
import { mainFile, cleanEnv, ended, lango, makeHome, startServer } from './lango-process.js';

describe('lango serve', () => {
  it('prints the address of its card, the file of its token, its model, a command that works, and that it is ready', async () => {
    const home = await makeHome();
    const server = await startServer(home);
    try {
      const token = (await readFile(path.join(home.folder, 'token'), 'utf8')).trim();
      const text = server.lines.join('\n');
      expect(text).toContain(`${server.origin}/.well-known/agent-card.json`);
      expect(text).toContain(`  console ${server.origin}/console/`);
      expect(text).toContain(`in ${path.join(home.folder, 'token')}`);
      expect(text).not.toContain(token);
      expect(text).toContain(home.folder);
      expect(text).toMatch(new RegExp(`^ +pid +${server.child.pid}$`, 'm'));
      expect(text).toMatch(/model +offline \(neither ANTHROPIC_API_KEY nor OPENAI_API_KEY is set\): /);
      expect(server.lines.at(-1)).toBe(`ready ${server.origin}`);
      const command = server.lines.find((line) => line.includes('lango send'))!.trim();
      const runnable = command.replace('lango', `"${process.execPath}" "${mainFile()}"`);
      const child = spawn('sh', ['-c', runnable], { env: cleanEnv() });
      child.stdin.end();
      expect(await ended(child)).toMatchObject({ code: 0, stdout: expect.stringContaining('hello') });
      const card = await fetch(`${server.origin}/.well-known/agent-card.json`);
      expect(card.status).toBe(200);
    } finally {
      const { code, stdout } = await server.stop();
      expect(code).toBe(0);
      expect(stdout).not.toMatch(/"level"/);
      await home.remove();
    }
  });

  it('prints in that command where the token comes from, and logs no token', async () => {
    const home = await makeHome();
    const server = await startServer({
      ...home,
      env: { ...home.env, LANGO_TOKEN: 'from-outside-5d08e7c2b9' },
    });
    await server.stop();
    await home.remove();
    expect(server.lines.join('\n')).toContain('LANGO_TOKEN=TOKEN lango send');
    expect(server.lines.join('\n')).not.toContain('from-outside-5d08e7c2b9');
  });

  it('prints with an issuer where a token comes from, and a command that names the variable for it', async () => {
    const issuer = await startIssuer();
    const home = await makeHome(
      `auth: { mode: jwt, jwt: { issuer: "${issuer.url}", audience: [${AUDIENCE}] } }\n`,
    );
    const server = await startServer(home);
    const asked = await langoHere(['send', 'hello'], { env: home.env });
    await server.stop();
    await home.remove();
    await issuer.close();
    const text = server.lines.join('\n');
    expect(text).toMatch(/^ +token +of the issuer in auth\.jwt\.issuer/m);
    expect(text).toContain('LANGO_TOKEN=TOKEN lango send');
    expect(asked).toMatchObject({ code: 8, stderr: expect.stringMatching(/token[^]*LANGO_TOKEN|--token/) });
  });

  it('checkpoints the log of its database while it runs, on a thread of the bundle', async () => {
    const home = await makeHome();
    const server = await startServer({
      ...home,
      env: { ...home.env, LANGO_TOKEN: 'known-4b7f92e6c1a8d035' },
    });
    const headers = { authorization: 'Bearer known-4b7f92e6c1a8d035', 'content-type': 'application/json' };
    try {
      const file = path.join(home.folder, 'lango.db');
      const folded = async (): Promise<boolean> => (await stat(file)).size > 15 * 1024 * 1024;
      const data = 'x'.repeat(700 * 1024);
      for (let count = 0; count < 60 && !(await folded()); count += 1) {
        const message = { messageId: `m${count}`, role: 'ROLE_USER', parts: [{ text: 'hello' }, { data }] };
        const body = JSON.stringify({ message });
        const { status } = await fetch(`${server.origin}/message:send`, { method: 'POST', headers, body });
        expect(status).toBe(200);
      }
      for (let look = 0; look < 2_000 && !(await folded()); look += 1) await delay(50);
      expect(await folded()).toBe(true);
    } finally {
      await server.stop();
      await home.remove();
    }
  });

  it('prints all of it for programs as one line of JSON', async () => {
    const home = await makeHome();
    const child = spawn(process.execPath, [mainFile(), 'serve', '--port', '0', '--json'], {
      env: cleanEnv(home.env),
    });
    for await (const line of createInterface({ input: child.stdout })) {
      expect(JSON.parse(line)).toMatchObject({
        ready: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
        card: expect.stringContaining('/.well-known/agent-card.json'),
        console: expect.stringContaining('/console/'),
        home: home.folder,
        pid: child.pid,
        model: 'offline',
        root: 'lango-orchestrator',
      });
      break;
    }
    child.kill('SIGINT');
    expect(await new Promise((resolve) => child.once('close', resolve))).toBe(0);
    await home.remove();
  });

  it('keeps serving when nobody reads its output', async () => {
    const port = await freePort();
    const home = await makeHome();
    const child = spawn(process.execPath, [mainFile(), 'serve', '--port', String(port)], {
      env: cleanEnv(home.env),
    });
    const closed = new Promise((resolve) => child.once('close', resolve));
    child.stdout.destroy();
    child.stderr.resume();
    const env = { ...home.env, LANGO_URL: `http://127.0.0.1:${port}` };
    let code = null;
    for (; child.exitCode === null && code !== 0; await delay(20))
      ({ code } = await langoHere(['agents'], { env }));
    const again = await langoHere(['send', 'hello'], { env });
    child.kill('SIGTERM');
    await closed;
    await home.remove();
    expect(again.code).toBe(0);
  });

  it('reports that the port is in use', async () => {
    const { port, close } = await takePort();
    const home = await makeHome();
    const result = await langoHere(['serve', '--port', String(port)], home);
    await close();
    await home.remove();
    expectOneSentence(result, `Port ${port} on 127.0.0.1 is already in use.`);
  });

  it('names each wrong line of the configuration', async () => {
    const home = await makeHome('server:\n  prot: 1\n  port: no\n');
    const result = await lango(['serve'], home);
    await home.remove();
    expectOneSentence(result, 'config.yaml:2:3: server.prot is not a known key; did you mean "port"?');
    expect(result.stderr).toContain('config.yaml:3:9: server.port');
  });

  it('reports that the data folder cannot be used', async () => {
    const home = await makeHome();
    // Even root cannot make a folder there.
    const result = await langoHere(['serve', '--home', '/sys/lango/data'], home);
    const check = await langoHere(['doctor', '--home', '/sys/lango/data'], home);
    await home.remove();
    expectOneSentence(result, 'The folder /sys/lango/data cannot be made');
    expect(result.stderr).toContain('Set LANGO_HOME');
    expect(check.stdout).toMatch(/^fail {2}data folder: \/sys cannot be written/m);
  });

  it.each([
    ['a folder that takes none, though even root may write', '/proc/lango'],
    ['a file', '/dev/null'],
    ['below a file', '/dev/null/data'],
    ['a name too long', `/tmp/${'a'.repeat(300)}`],
    ['a path too long', '/lango'.repeat(1_000)],
  ])('reports at once that nothing can be stored there: %s', async (_title, folder) => {
    const home = await makeHome();
    const result = await langoHere(['serve', '--port', '0', '--home', folder], home);
    const check = await langoHere(['doctor', '--home', folder], home);
    await home.remove();
    expectOneSentence(result, `The folder ${folder} cannot be made`);
    expect(result.stderr).toContain('Set LANGO_HOME');
    expect(check).toMatchObject({ code: 1, stdout: expect.stringMatching(/^fail {2}data folder: /m) });
  });

  const itAsUser = process.getuid?.() === 0 ? it.skip : it;
  itAsUser('says that the data folder is read-only (skipped as root, who may write anywhere)', async () => {
    const home = await makeHome();
    const folder = path.join(home.folder, 'data');
    await mkdir(folder);
    await chmod(folder, 0o500);
    const result = await lango(['serve', '--port', '0', '--home', folder], home);
    await chmod(folder, 0o700);
    await home.remove();
    expectOneSentence(result, folder);
  });

  it('refuses a database from a newer version', async () => {
    const home = await makeHome();
    await (await startServerHere(home)).stop();
    const database = new Database(path.join(home.folder, 'lango.db'));
    database.pragma('user_version = 999');
    database.close();
    const result = await langoHere(['serve', '--port', '0'], home);
    const check = await langoHere(['doctor'], { env: home.env });
    await home.remove();
    expectOneSentence(result, 'The database was made by a newer version of Lango: schema 999');
    expect(check).toMatchObject({ code: 1, stdout: expect.stringContaining('made by a newer version') });
  });

  it('shows a stack only with --debug', async () => {
    const home = await makeHome('nonsense: 1');
    const result = await lango(['serve', '--debug'], home);
    await home.remove();
    expect(result.stderr).toMatch(/\n +at /);
  });
});

async function takePort(): Promise<{ readonly port: number; readonly close: () => Promise<void> }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function expectOneSentence({ code, stdout, stderr }: Result, text: string): void {
  expect(code).toBe(1);
  expect(stdout).toBe('');
  expect(stderr.split('\n').find((line) => line.startsWith('error: '))).toBeDefined();
  expect(stderr).toContain(text);
  expect(stderr).not.toMatch(/\n +at /);
}
