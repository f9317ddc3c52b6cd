import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdir, mkdtemp, readFile, readdir, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { text as readAll } from 'node:stream/consumers';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { bubblewrap } from '../../../../src/capabilities/workspace/exec/bubblewrap.js';
import { findSandbox } from '../../../../src/capabilities/workspace/exec/index.js';
import { until } from '../../../support/until.js';
import { callerOf } from '../../../support/tool-call.js';
import {
  LIMITS,
  describeSandboxed,
  openStage,
  noneWith,
  processesWith,
  resultOf,
  sleepMark,
  type Stage,
} from './setup.js';

describeSandboxed('the sandbox', () => {
  let stage: Stage;
  const run = async (command: string, more: object = {}) =>
    resultOf(await callerOf(stage.exec.tools)('exec', { command, ...more }));

  beforeAll(async () => {
    stage = await openStage('required');
  });
  afterAll(() => stage.close());

  it('runs commands without root, capabilities, or a way to gain any', async () => {
    const { stdout } = await run('id -u; grep -E "^(Cap|NoNewPrivs)" /proc/self/status');
    const [uid, ...status] = stdout.trim().split('\n');
    expect(Number(uid)).toBeGreaterThan(0);
    expect(status.map((line) => line.replace(/\s+/, ' '))).toEqual([
      'CapInh: 0000000000000000',
      'CapPrm: 0000000000000000',
      'CapEff: 0000000000000000',
      'CapBnd: 0000000000000000',
      'CapAmb: 0000000000000000',
      'NoNewPrivs: 1',
    ]);
    expect((await run('unshare --user true')).exitCode).not.toBe(0);
  });

  it('is unprivileged by the kernel’s count too, as seen from outside', async () => {
    const mark = sleepMark();
    const cancel = new AbortController();
    const running = callerOf(stage.exec.tools)(
      'exec',
      { command: `sleep ${mark}` },
      { signal: cancel.signal },
    );
    const canceled = expect(running).rejects.toThrow('seen');
    const isSleep = async (id: number) =>
      (await readFile(`/proc/${id}/comm`, 'utf8').catch(() => '')) === 'sleep\n';
    let sleeper: number | undefined;
    await until(async () => {
      const ids = await processesWith(mark);
      const sleeping = await Promise.all(ids.map(isSleep));
      sleeper = ids.find((_, index) => sleeping[index]);
      return sleeper !== undefined;
    });
    const status = await readFile(`/proc/${sleeper}/status`, 'utf8');
    const uids = /^Uid:\s+(.*)$/m.exec(status)![1]!.split(/\s+/).map(Number);
    expect(uids.every((uid) => uid !== 0)).toBe(true);
    cancel.abort(new Error('seen'));
    await canceled;
    await noneWith(mark);
  });

  it('makes the workspace writable and nothing else', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'lango-outside-'));
    const { stdout, exitCode } = await run('echo hello > a.txt && cat a.txt && mkdir -p d/e && touch d/e/f');
    expect({ stdout, exitCode }).toEqual({ stdout: 'hello\n', exitCode: 0 });
    expect(await readFile(join(stage.root, 'a.txt'), 'utf8')).toBe('hello\n');
    for (const path of ['/x', '/usr/x', '/etc/x', '/dev/x', `${outside}/x`, '/home/x']) {
      expect({ path, ...(await run(`echo x > ${path}`)) }).toMatchObject({ path, exitCode: 1 });
    }
    expect(await readdir(outside)).toEqual([]);
    await rm(outside, { recursive: true });
  });

  it('shows none of the host’s files except the system’s programs', async () => {
    const home = await mkdtemp(join(tmpdir(), 'lango-home-'));
    await writeFile(join(home, 'token'), 'top-secret', { mode: 0o644 });
    const { stdout } = await run(
      `cat /etc/shadow ${home}/token; ls /root /home /var /run /sys /mnt; ls -A /tmp; cat /proc/${process.pid}/environ; echo end`,
    );
    expect(
      stdout
        .trim()
        .split('\n')
        .filter((line) => !line.startsWith('lango-exec-')),
    ).toEqual(['end']);
    expect((await run('whoami; cat /etc/passwd | wc -l')).stdout).toBe('lango\n1\n');
    await rm(home, { recursive: true });
  });

  it('keeps what it writes to /tmp from the host and from the next command', async () => {
    const name = `/tmp/lango-private-${process.pid}`;
    expect((await run(`touch ${name} && ls ${name}`)).exitCode).toBe(0);
    await expect(stat(name)).rejects.toThrow('ENOENT');
    expect((await run(`ls ${name}`)).exitCode).not.toBe(0);
  });

  it('reaches neither the host’s network nor its abstract sockets, unless allowed', async () => {
    const server = createServer((socket) => socket.end('reached')).listen(0, '127.0.0.1');
    const hidden = createServer((socket) => socket.end('reached')).listen(`\0lango-test-${process.pid}`);
    await Promise.all([server, hidden].map((each) => once(each, 'listening')));
    const tcp = `exec 3<>/dev/tcp/127.0.0.1/${(server.address() as AddressInfo).port}; cat <&3`;
    const abstract = `python3 -c "import socket
s = socket.socket(socket.AF_UNIX); s.connect('\\0lango-test-${process.pid}'); print(s.recv(9).decode())"`;
    const open = await openStage('required', { network: true });
    const runOpen = async (command: string) =>
      resultOf(await callerOf(open.exec.tools)('exec', { command })).stdout;
    expect((await run(tcp)).stdout).toBe('');
    expect((await run(abstract)).stdout).toBe('');
    expect(await runOpen(tcp)).toBe('reached');
    expect((await runOpen(abstract)).trim()).toBe('reached');
    await open.close();
    server.close();
    hidden.close();
  });

  it('sees only its own processes, and holds no descriptor of the server', async () => {
    expect((await run('ls -d /proc/[0-9]* | wc -l')).stdout.trim()).toMatch(/^[1-9]$/);
    const { stdout } = await run(
      'ls -l /proc/$$/fd > fds; hostname; readlink /proc/$$/fd/0; grep -c -e socket: -e pipe: fds',
    );
    expect(stdout).toBe('lango\n/dev/null\n2\n');
  });

  it('has namespaces of its own', async () => {
    const kinds = ['ipc', 'mnt', 'net', 'pid', 'user', 'uts'];
    const { stdout } = await run(`cd /proc/self/ns && readlink ${kinds.join(' ')}`);
    const inside = stdout.trim().split('\n');
    const outside = await Promise.all(kinds.map((kind) => readlink(`/proc/self/ns/${kind}`)));
    expect(inside.map((name) => name.split(':')[0])).toEqual(kinds);
    expect(inside.filter((name) => outside.includes(name))).toEqual([]);
  });

  it('takes no argument of its own from input that the model controls', async () => {
    const env = { LD_PRELOAD: '/nowhere.so', BASH_ENV: '/nowhere', PATH: '/bin' };
    expect((await run('id -u; echo "$PATH"', { env })).stdout).toMatch(/^[1-9]\d*\n\/bin\n$/);
    await expect(run('true', { env: { A: 'x\0--bind\0/\0/' } })).rejects.toThrow('NUL');
    const { sandbox } = await findSandbox('required', [stage.root]);
    const command = {
      shell: '/bin/sh',
      command: 'true',
      cwd: stage.root,
      env: { A: 'x\0--bind' },
      writable: [stage.root],
      readable: [],
      fileBytes: 1024,
      limits: LIMITS,
    };
    expect(() => sandbox!.launch(command, false)).toThrow('NUL');
    await expect(run('true', { env: { 'A=B': 'x' } })).rejects.toThrow('variable name');
    await expect(run('true', { cwd: '\0' })).rejects.toThrow('NUL');
  });

  it('gives its setup programs, some of which run as root, no variable of the model', async () => {
    // With these variables, the loader of each program writes down the program's name.
    const env = { LD_DEBUG: 'files', LD_DEBUG_OUTPUT: join(stage.root, 'loaded') };
    await run('true', { env });
    const files = (await readdir(stage.root)).filter((name) => name.startsWith('loaded.'));
    const logs = await Promise.all(files.map((name) => readFile(join(stage.root, name), 'utf8')));
    const programs = logs.flatMap((log) => /initialize program: (\S+)/.exec(log)?.slice(1) ?? []);
    expect(programs).toEqual(['/bin/sh']);
  });

  it('reports how it runs commands', async () => {
    const root = await mkdtemp(join(tmpdir(), 'lango-owner-'));
    const { sandbox } = await findSandbox('required', [root]);
    const asRoot = /^bubblewrap, stepping down from root to uid 65534$/;
    expect(sandbox!.summary).toMatch(process.getuid!() === 0 ? asRoot : /^bubblewrap, uid \d+$/);
    await rm(root, { recursive: true });
  });

  it('needs no privilege drop for a server that is an ordinary user', async () => {
    const account = process.getuid!() === 0 ? { uid: 65534, gid: 65534 } : {};
    const [uid, gid] = [account.uid ?? process.getuid!(), account.gid ?? process.getgid!()];
    const root = await mkdtemp(join(tmpdir(), 'lango-ordinary-'));
    await chown(root, uid, gid);
    const script =
      'id -u; id -un; pwd; grep CapEff /proc/self/status; echo x > made; ls -A /root /home 2> /dev/null | wc -l';
    const command = {
      shell: '/bin/sh',
      command: script,
      cwd: root,
      env: { PATH: '/usr/bin' },
      writable: [root],
      readable: [],
      fileBytes: 1024,
      limits: LIMITS,
    };
    const {
      file,
      args,
      env,
      pipedInputs: feeds,
    } = bubblewrap('/usr/bin/bwrap', { uid, gid, roots: [root] }).launch(command, false);
    const stdio = ['ignore', 'pipe', 'inherit', 'pipe', 'pipe', 'pipe'] as const;
    const child = spawn(file, args, { env, cwd: '/', stdio: [...stdio], ...account });
    feeds.forEach((text, index) => (child.stdio[3 + index] as Writable).end(text));
    expect(await readAll(child.stdout as Readable)).toBe(
      `${uid}\nlango\n${root}\nCapEff:\t0000000000000000\n0\n`,
    );
    expect((await stat(join(root, 'made'))).uid).toBe(uid);
    await rm(root, { recursive: true });
  });
});

describeSandboxed('the search for a sandbox', () => {
  it('reports why there is none, and rejects where one is required', async () => {
    expect((await findSandbox('off', ['/tmp'])).reason).toContain('switched off');
    const system = ['/usr/local'];
    expect((await findSandbox('auto', system)).reason).toContain('is a system folder');
    await expect(findSandbox('required', system)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(findSandbox('required', ['/'])).rejects.toThrow('is a system folder');
  });

  it('leaves a folder of root alone that holds something', async () => {
    if (process.getuid!() !== 0) return;
    const root = await mkdtemp(join(tmpdir(), 'lango-owner-'));
    await mkdir(join(root, 'work'));
    const { sandbox, reason } = await findSandbox('auto', [root]);
    expect(sandbox).toBeUndefined();
    expect(reason).toContain('chown -R 65534:65534');
    expect((await stat(root)).uid).toBe(0);
    await rm(root, { recursive: true });
  });
});
