import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import path from 'node:path';
import { certificate, writePair } from '../support/certificates.js';
import { freePort } from '../support/free-port.js';
import { langoHere, startServerHere, startWithPeers } from './lango-here.js';
import type { Home, Result, Server } from './lango-process.js';
import { mainFile, cleanEnv, ended, lango, makeHome, startServer } from './lango-process.js';

/** With this setting commands always wait for approval, on any machine. */
const CONFIG = 'tools: { exec: { sandbox: "off" } }\n';

let home: Home;
let server: Server;

beforeAll(async () => {
  home = await makeHome(CONFIG);
  server = await startServer(home);
});

afterAll(async () => {
  await server.stop();
  await home.remove();
});

function run(...args: readonly string[]): Promise<Result> {
  return langoHere(args, { env: server.env });
}

interface Answered {
  readonly taskId: string;
  readonly contextId: string;
  readonly state: string;
  readonly questions: readonly { readonly hash: string }[];
}

async function waitingTask(command: string): Promise<Answered> {
  const { code, stdout } = await run('send', '--json', `run ${command}`);
  expect(code).toBe(4);
  return JSON.parse(stdout) as Answered;
}

describe('lango send', () => {
  it('prints only the text of the result without a terminal', async () => {
    const result = await run('send', 'write "blue" into sky.txt and then read sky.txt');
    expect(result).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('blue') });
    expect(result.stdout).not.toContain('▸');
    expect(await readFile(path.join(home.folder, 'workspace/sky.txt'), 'utf8')).toBe('blue');
  });

  it('prints the reason of a rejection, and ends with its exit code', async () => {
    const { code, stdout, stderr } = await run('send', 'dance');
    expect({ code, stdout }).toEqual({ code: 6, stdout: '' });
    expect(stderr).toContain('rejected: I do not understand "dance". Nothing was done.');
    expect(stderr).toContain('- read [path]');
  });

  it('prints every step with --stream', async () => {
    const { code, stdout } = await run('send', '--stream', 'write "red" into rose.txt');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^task [0-9a-f-]{36} submitted$/m);
    expect(stdout).toMatch(/^lango-orchestrator → operator write "red" into rose.txt$/m);
    expect(stdout).toMatch(/^operator ▸ fs_write .*path="rose.txt"/m);
    expect(stdout).toMatch(/^✔ completed · [\d,]+ tokens in/m);
    // eslint-disable-next-line no-control-regex
    expect(stdout).not.toMatch(/\u001b/);
  });

  it('colors a pipe only on request', async () => {
    const colored = async (env: Readonly<Record<string, string>>, start = langoHere): Promise<boolean> => {
      const { stdout } = await start(['send', '--stream', 'hello'], { env: { ...server.env, ...env } });
      return stdout.includes('\u001b[');
    };
    expect(await colored({}, lango)).toBe(false);
    expect(await colored({ CI: 'true' })).toBe(false);
    expect(await colored({ FORCE_COLOR: '1' }, lango)).toBe(true);
    expect(await colored({ FORCE_COLOR: '1', NO_COLOR: '1' })).toBe(false);
  });

  it('prints one JSON object with --json, and a line for each event with --stream', async () => {
    const one = await run('send', '--json', 'hello');
    expect(JSON.parse(one.stdout)).toMatchObject({
      taskId: expect.any(String),
      contextId: expect.any(String),
      state: 'completed',
      text: expect.stringContaining('Hello'),
      questions: [],
      usage: { input: expect.any(Number) },
    });
    const { stdout } = await run('send', '--json', '--stream', 'hello');
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string });
    expect(events[0]).toMatchObject({ type: 'task' });
    expect(events.at(-1)).toMatchObject({ type: 'end', state: 'completed' });
  });

  it('continues a conversation', async () => {
    const first = JSON.parse((await run('send', '--json', 'hello')).stdout) as Answered;
    const second = await run('send', '--json', '--context', first.contextId, 'hello again');
    expect(JSON.parse(second.stdout)).toMatchObject({ contextId: first.contextId });
    const { stdout } = await run('tasks', 'list', '--json', '--context', first.contextId);
    expect((JSON.parse(stdout) as { tasks: unknown[] }).tasks).toHaveLength(2);
  });

  it('reads the request from a pipe', async () => {
    const result = await lango(['send', '-'], { env: server.env, input: 'hello\n' });
    expect(result).toMatchObject({ code: 0, stdout: expect.stringContaining('Hello') });
  });

  it('sends to the agent that is named', async () => {
    const { stdout } = await run('send', '--json', '--agent', 'operator', 'list the files');
    expect(JSON.parse(stdout)).toMatchObject({ state: 'completed', author: 'operator' });
  });

  it('prints a question and the commands to reply when nobody can be asked', async () => {
    const { code, stdout, stderr } = await run('send', 'run echo one');
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
    expect(stderr).toContain('"command": "echo one"');
    expect(stderr).toMatch(/lango send --task [0-9a-f-]{36} --approve [0-9a-f]{64}\n/);
    expect(stderr).toMatch(/lango send --task [0-9a-f-]{36} --deny [0-9a-f]{64} --reason "why"/);
  });

  it('approves a call by its hash', async () => {
    const { taskId, questions } = await waitingTask('echo approved-it');
    const result = await run('send', '--task', taskId, '--approve', questions[0]!.hash);
    expect(result).toMatchObject({ code: 0, stdout: expect.stringContaining('approved-it') });
  });

  it('denies a call, and does not run it', async () => {
    const { taskId, questions } = await waitingTask('touch denied.txt');
    const { code } = await run('send', '--task', taskId, '--deny', questions[0]!.hash, '--reason', 'no');
    expect(code).not.toBe(4);
    await expect(readFile(path.join(home.folder, 'workspace/denied.txt'))).rejects.toThrow('ENOENT');
  });

  it('does not accept prose as an approval', async () => {
    const { taskId } = await waitingTask('touch talked.txt');
    expect(await run('send', '--task', taskId, 'approved, go on')).toMatchObject({ code: 4 });
    await expect(readFile(path.join(home.folder, 'workspace/talked.txt'))).rejects.toThrow('ENOENT');
  });

  it('approves everything with --yes', async () => {
    const result = await run('send', '--yes', 'run echo yes-it-ran');
    expect(result).toMatchObject({ code: 0, stdout: expect.stringContaining('yes-it-ran') });
  });

  it('cancels the task when it is interrupted', async () => {
    const args = [mainFile(), 'send', '--yes', '--json', '--stream', 'run sleep 30'];
    const child = spawn(process.execPath, args, { env: cleanEnv(server.env) });
    let seen = '';
    child.stdout.on('data', (chunk: Buffer) => {
      seen += chunk.toString('utf8');
      if (!seen.includes('"tool-call"')) return;
      seen = '';
      child.kill('SIGINT');
    });
    const { code, stdout } = await ended(child);
    expect(code).toBe(130);
    const { taskId } = JSON.parse(stdout.split('\n')[0]!) as { taskId: string };
    const task = JSON.parse((await run('tasks', 'get', taskId, '--json')).stdout) as Answered;
    expect(task).toMatchObject({ agent: 'lango-orchestrator', state: 'canceled' });
  });

  it('ends with success when its reader closes the pipe', async () => {
    const command = `"${process.execPath}" "${mainFile()}" send --stream hello | head -n 1; exit \${PIPESTATUS[0]}`;
    const result = await ended(spawn('bash', ['-c', command], { env: cleanEnv(server.env) }));
    expect(result).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('lango agents and tasks', () => {
  it('list the agents with their state and skills', async () => {
    const { stdout } = await run('agents');
    expect(stdout).toMatch(/^lango-orchestrator +ready +local, at the root$/m);
    expect(stdout).toMatch(/^operator +ready +local$/m);
    expect(stdout).toMatch(/skills: .*File operations/);
    expect(JSON.parse((await run('agents', '--json')).stdout)).toMatchObject({
      root: 'lango-orchestrator',
      model: 'offline',
      agents: expect.arrayContaining([expect.objectContaining({ name: 'operator', state: 'ready' })]),
    });
  });

  it('show why a remote agent is skipped', async () => {
    const other = await makeHome(
      'a2a: { enabled: true, remoteAgents: [{ name: far, url: "http://127.0.0.1:1", allowPrivate: true }, { name: near, url: "http://127.0.0.1:2" }] }',
    );
    const node = await startWithPeers(other);
    const { stdout } = await langoHere(['agents'], { env: node.env });
    const sent = await langoHere(['send', 'hello'], { env: node.env });
    const delegated = await langoHere(['send', 'list the files'], { env: node.env });
    await node.stop();
    await other.remove();
    expect(sent.stderr).toMatch(/^Not available at present: far \(127\S+ cannot be reached[^]*lango agents/);
    expect(delegated).toMatchObject({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^far +skipped +remote http:\/\/127\.0\.0\.1:1$/m);
    expect(stdout).toMatch(
      /why: 127\.0\.0\.1:1 cannot be reached \(ECONNREFUSED\)\.\n +It joins when it responds\./,
    );
    expect(stdout).toMatch(
      /why: 127\.0\.0\.1:2 has a private or loopback address\.\n +If that is meant, set allowPrivate: true/,
    );
  });

  it('show the address where a remote agent takes requests, and that address works', async () => {
    const address = `${server.origin}/agents/operator`;
    const other = await makeHome(
      `a2a: { enabled: true, remoteAgents: [{ name: worker, url: "${address}", allowPrivate: true }] }`,
    );
    const node = await startWithPeers(other);
    const { env } = node;
    const { code, stderr } = await langoHere(['send', 'list the files', '--agent', 'worker'], { env });
    const chat = await langoHere(['chat', '--agent', 'worker'], { env, input: 'list the files' });
    const line = await langoHere(['chat'], { env, input: '/agent worker' });
    await node.stop();
    await other.remove();
    const words = `worker is a remote agent; requests to it do not go through ${node.origin}.`;
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(words) });
    expect(chat.stderr).toContain(words);
    expect(line.stderr).toContain(words);
    const [, url = ''] = /--url (\S+)/.exec(stderr) ?? [];
    expect(url).toBe(address);
    expect((await run('send', 'list the files', '--url', url)).code).toBe(0);
  });

  it('find a task of any agent, and show it', async () => {
    const sent = await run('send', '--json', '--agent', 'operator', 'list the files');
    const { taskId } = JSON.parse(sent.stdout) as Answered;
    const { code, stdout } = await run('tasks', 'get', taskId);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^agent +operator$/m);
    expect(stdout).toMatch(/^user +list the files$/m);
  });

  it('filter tasks by state and number', async () => {
    await waitingTask('echo for-the-list');
    const { stdout } = await run('tasks', 'list', '--json', '--state', 'input-required', '--limit', '1');
    const { tasks } = JSON.parse(stdout) as { tasks: Answered[] };
    expect(tasks.map(({ state }) => state)).toEqual(['input-required']);
  });

  it('list each task with its request', async () => {
    await run('send', '--context', 'the-list', 'write "listed" into listed.txt');
    const { stdout } = await run('tasks', 'list', '--agent', 'lango-orchestrator', '--context', 'the-list');
    expect(stdout).toMatch(/s {2}lango-orchestrator {2}✔ completed {2}write "listed" into listed\.txt$/m);
  });

  it('watch a task from its start, also when it has ended', async () => {
    const { taskId } = JSON.parse((await run('send', '--json', 'write "x" into w.txt')).stdout) as Answered;
    const { code, stdout } = await run('tasks', 'watch', taskId);
    expect(code).toBe(0);
    expect(stdout).toContain('operator ▸ fs_write');
    expect(stdout).toContain('✔ completed');
  });

  it('watch a task past questions that have been replied to', async () => {
    const { taskId, questions } = await waitingTask('echo past-the-question');
    await run('send', '--task', taskId, '--approve', questions[0]!.hash);
    const { code, stdout } = await run('tasks', 'watch', taskId);
    expect(code).toBe(0);
    expect(stdout).toContain('past-the-question');
    expect(stdout).toContain('✔ completed');
  });

  it('watch a task up to an open question', async () => {
    const { taskId } = await waitingTask('echo open-question');
    const { code, stdout, stderr } = await run('tasks', 'watch', taskId);
    expect(code).toBe(4);
    expect(stdout.match(/asks: May operator run the command "echo open-question"/g)).toHaveLength(1);
    expect(stderr).toContain('--approve');
  });

  it('cancel a task', async () => {
    const { taskId } = await waitingTask('echo never');
    expect(await run('tasks', 'cancel', taskId)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('canceled'),
    });
    expect(await run('tasks', 'watch', taskId)).toMatchObject({ code: 7 });
  });
});

describe('lango chat', () => {
  it('keeps one conversation, and starts another', async () => {
    const input = ['hello', '/tasks', '/new', 'write "c" into chat.txt', '/nonsense', '/exit'].join('\n');
    const { code, stdout, stderr } = await lango(['chat'], { env: server.env, input });
    expect(code).toBe(0);
    expect(stdout.match(/^✔ completed/gm)).toHaveLength(2);
    expect(stdout).toMatch(/^[0-9a-f-]{36} .* lango-orchestrator {2}✔ completed/m);
    expect(stderr).toContain('A new conversation.');
    expect(stderr).toMatch(/^There is no command \/nonsense\.\n.*\/agent NAME/ms);
  });

  it('switches to another agent when one of that name exists', async () => {
    const input = ['/agent nobody', '/agent operator', 'list the files'].join('\n');
    const { stdout, stderr } = await langoHere(['chat'], { env: server.env, input });
    expect(stderr).toMatch(
      /There is no agent nobody at \S+\. Agents published there: lango-orchestrator, .*operator, planner/,
    );
    expect(stdout).toMatch(/^operator ▸ fs_list/m);
  });
});

describe('the help', () => {
  it("shows a command's own options before those that it shares", async () => {
    const { code, stdout } = await lango(['send', '--help']);
    expect(code).toBe(0);
    expect(stdout.indexOf('--agent')).toBeLessThan(stdout.indexOf('Where:'));
    expect(stdout.indexOf('Where:')).toBeLessThan(stdout.indexOf('--url'));
  });

  it('covers each command that the page of the command line lists, and no other', async () => {
    const page = await readFile('docs/reference/cli.md', 'utf8');
    const listed = [...page.matchAll(/^\| \[`(\w+)`\]/gm)].map(([, name]) => name);
    const { stdout } = await lango(['--help']);
    const known = [...stdout.matchAll(/^ {2}(\w+) .* {2}/gm)].map(([, name]) => name);
    expect(known.filter((name) => name !== 'help').sort()).toEqual(listed.sort());
  });
});

describe('the error of a client command', () => {
  it('says that no server responds, and how to start one', async () => {
    const result = await run('send', 'hi', '--url', 'http://127.0.0.1:1');
    expect(result).toEqual({
      code: 3,
      stdout: '',
      stderr: 'error: No server responds at http://127.0.0.1:1.\nStart one with: lango serve\n',
    });
  });

  it('does not suggest starting a server on another machine', async () => {
    const { code, stderr } = await run('agents', '--url', 'http://nobody.invalid');
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringMatching(/No server responds at http:\/\/nobody\.invalid\.\nIs the address right/),
    });
  });

  it('names the host whose certificate is not trusted, and how to trust it', async () => {
    const pair = await certificate('a server');
    const { certFile } = await writePair(home.folder, 'server', pair);
    const secure = createTlsServer(pair, (_request, response) => response.writeHead(404).end());
    await once(secure.listen(0, '127.0.0.1'), 'listening');
    const url = `https://127.0.0.1:${(secure.address() as AddressInfo).port}`;
    const refused = await langoHere(['card', url], { env: home.env });
    const trusted = await lango(['card', url], { env: { ...home.env, NODE_EXTRA_CA_CERTS: certFile } });
    secure.close();
    expect(refused).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(
        /The certificate of \S+ is not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\)\.\n.* NODE_EXTRA_CA_CERTS /,
      ),
    });
    expect(trusted).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no agent card at') });
  });

  it('shows how an address is written', async () => {
    const { code, stderr } = await run('agents', '--url', 'localhost:4100');
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('For instance: http://localhost:4100'),
    });
  });

  it('says that the token is wrong', async () => {
    for (const args of [['send', 'hi'], ['agents'], ['tasks', 'list']]) {
      const { code, stderr } = await run(...args, '--token', 'wrong');
      expect(code).toBe(8);
      expect(stderr).toContain('requires a valid token. It says: The token is wrong.\nSet LANGO_TOKEN');
    }
  });

  it('names the existing agents', async () => {
    for (const args of [
      ['send', 'hi', '--agent', 'nobody'],
      ['card', 'nobody'],
    ]) {
      const { code, stderr } = await run(...args);
      expect(code).toBe(1);
      expect(stderr).toContain('There is no agent nobody');
      expect(stderr).toMatch(/Agents published there: lango-orchestrator, .*operator/);
    }
  });

  it('suggests the agent with the nearest name', async () => {
    const { stderr } = await run('send', 'hi', '--agent', 'operater');
    expect(stderr).toMatch(/\nDid you mean operator\? Agents published there: /);
  });

  it('is "not found" for an unknown task', async () => {
    const { code, stderr } = await run('tasks', 'get', 'nope');
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('There is no task nope') });
  });

  it('is one line of JSON with --json', async () => {
    const { stdout, stderr } = await run('card', 'nobody', '--json');
    expect(stdout).toBe('');
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'not-found', hint: expect.any(String) } });
  });

  it('has exit code 2 when the command line is wrong', async () => {
    const wrong = [
      ['nonsense'],
      ['send'],
      ['send', '--unknown', 'x'],
      ['send', '--approve', 'h'],
      ['send', 'x', '--reason', 'r'],
      ['send', 'x', '--url', 'ftp://x'],
      ['serve', '--port', '70000'],
      ['tasks', 'list', '--state', 'gone'],
      ['tasks', 'list', '--limit', '0'],
      ['tasks', 'get'],
      ['config', 'show', '--home', ''],
      ['send', 'x', '--url='],
      ['send', 'x', '--task', 't', '--deny', 'h', '--deny='],
      ['ingest', '--collection', '', 'list'],
    ];
    for (const args of wrong) {
      const { code, stdout, stderr } = await run(...args);
      expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: '' });
      expect(stderr).toMatch(/^error: /);
    }
  });

  it('names the help of the intended command, also in JSON', async () => {
    const { stderr } = await run('tasks', 'list', '--limit', '0');
    expect(stderr).toMatch(/from 1 to 100\.\nSee: lango tasks list --help$/m);
    const wrong = await run('send', '--json', '--jsn', 'x');
    expect(wrong).toMatchObject({ code: 2, stdout: '' });
    expect(JSON.parse(wrong.stderr)).toEqual({
      error: {
        code: 'invalid-input',
        message: "unknown option '--jsn' (Did you mean --json?)",
        hint: 'See: lango send --help',
      },
    });
  });

  it('says what failed when the model cannot be reached', async () => {
    const other = await makeHome(
      'model: { provider: openai, name: m, baseUrl: "http://127.0.0.1:1", maxRetries: 0 }',
    );
    const node = await startServerHere(other);
    const { code, stderr } = await langoHere(['send', 'hi'], { env: node.env });
    const doctor = await langoHere(['doctor', '--model'], { env: node.env });
    await node.stop();
    await other.remove();
    expect({ code, stderr }).toEqual({ code: 5, stderr: expect.stringMatching(/^failed: .*model/) });
    expect(doctor).toMatchObject({ code: 1, stdout: expect.stringMatching(/^fail {2}model: openai\/m/m) });
  });
});

describe('the token of the data folder', () => {
  const address = Object.values(networkInterfaces())
    .flat()
    .find((one) => one?.family === 'IPv4' && !one.internal)?.address;
  const itOnNetwork = address === undefined ? it.skip : it;

  async function authorizationSent(
    host: string,
    env: Readonly<Record<string, string>>,
    port = 0,
  ): Promise<unknown> {
    const seen: unknown[] = [];
    const other = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => other.listen(port, '0.0.0.0', resolve));
    const url = `http://${host}:${(other.address() as AddressInfo).port}`;
    await langoHere(['card', '--url', url], { env });
    other.close();
    return seen[0];
  }

  it("is not sent to another program at the server's address, also after the server was killed", async () => {
    expect(await authorizationSent('127.0.0.1', home.env)).toBeUndefined();
    const dead = await makeHome();
    const port = await freePort();
    const killed = await startServer(dead, ['--port', String(port)]);
    killed.child.kill('SIGKILL');
    await killed.stop();
    expect(await authorizationSent('127.0.0.1', dead.env, port)).toBeUndefined();
    await dead.remove();
  });

  itOnNetwork('is not sent to any other (skipped without a network address)', async () => {
    expect(await authorizationSent(address!, home.env)).toBeUndefined();
    expect(await authorizationSent(address!, { ...home.env, LANGO_TOKEN: 'given' })).toBe('Bearer given');
  });
});
