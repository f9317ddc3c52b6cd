import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import { LangoError } from '../../../../src/core/errors.js';
import { createExec, findSandbox } from '../../../../src/capabilities/workspace/exec/index.js';
import { holdTime } from '../../../support/held-time.js';
import { argumentsIn } from '../../../support/offline-rows.js';
import { until } from '../../../support/until.js';
import { callerOf, toolNamed } from '../../../support/tool-call.js';
import {
  describeSandboxed,
  LIMITS,
  openStage,
  noneWith,
  processesWith,
  resultOf,
  sleepMark,
  type Stage,
} from './setup.js';
import { sharedDisk } from '../../../disk/disk.js';

const MODES = [
  ['in the sandbox', 'required', describeSandboxed],
  ['without a sandbox', 'off', describe],
] as const;

async function onStage(
  mode: 'required' | 'off',
  work: (stage: Stage) => Promise<void>,
  changes: Parameters<typeof openStage>[1] = {},
): Promise<void> {
  const stage = await openStage(mode, changes);
  try {
    await work(stage);
  } finally {
    await stage.close();
  }
}

for (const [title, mode, describeMode] of MODES) {
  describeMode(`exec ${title}`, () => {
    it('returns exit code, stdout and stderr apart, and flags a failure', () =>
      onStage(mode, async ({ exec }) => {
        const call = callerOf(exec.tools);
        expect(await call('exec', { command: 'echo out; echo err >&2' })).toEqual({
          content: { exitCode: 0, stdout: 'out\n', stderr: 'err\n' },
          isError: false,
        });
        const failed = await call('exec', { command: 'echo no >&2; exit 3' });
        expect(failed).toEqual({ content: { exitCode: 3, stdout: '', stderr: 'no\n' }, isError: true });
        expect(resultOf(await call('exec', { command: 'kill -9 $$' })).exitCode).toBe(137);
        expect(resultOf(await call('exec', { command: 'cat; echo closed' })).stdout).toBe('closed\n');
      }));

    it('starts in the first root, and refuses a folder outside the roots', () =>
      onStage(mode, async ({ exec, root }) => {
        const call = callerOf(exec.tools);
        await mkdir(join(root, 'sub'));
        await writeFile(join(root, 'file'), '');
        await symlink('/', join(root, 'out'));
        const pwd = async (cwd?: string) =>
          resultOf(await call('exec', { command: 'pwd', cwd })).stdout.trim();
        expect([await pwd(), await pwd('sub'), await pwd(join(root, 'sub'))]).toEqual([
          root,
          join(root, 'sub'),
          join(root, 'sub'),
        ]);
        for (const cwd of ['..', '/', '/tmp', 'out', 'out/tmp', 'file', 'missing', `${root}-sibling`]) {
          await expect(pwd(cwd)).rejects.toMatchObject({ code: 'invalid-input' });
        }
      }));

    it('passes only the allowed environment variables', () =>
      onStage(
        mode,
        async ({ exec, root }) => {
          const { stdout } = resultOf(
            await callerOf(exec.tools)('exec', { command: 'env', env: { MINE: "it's $HOME\n2" } }),
          );
          expect(stdout).toContain(`HOME=${root}\n`);
          expect(stdout).toContain("MINE=it's $HOME\n2\n");
          expect(stdout).toContain('SHOWN=yes\n');
          expect(stdout).not.toContain('KEY');
        },
        { environment: { SHOWN: 'yes', API_KEY: 'secret' }, envAllow: ['SHOWN', 'ABSENT'] },
      ));

    it('keeps the head and the tail of a long output, with a mark, in bounded memory', () =>
      onStage(mode, async ({ exec }) => {
        const call = callerOf(exec.tools);
        const long = resultOf(await call('exec', { command: 'seq 1 20000; seq 1 3 >&2' }));
        expect(long.stdout).toMatch(/^1\n2\n[^]*\[… \d+ bytes left out; write it to a file[^]*\n20000\n$/);
        expect(Buffer.byteLength(long.stdout)).toBeLessThan(LIMITS.outputBytes + 200);
        expect(long.stderr).toBe('1\n2\n3\n');
        global.gc?.();
        const before = process.memoryUsage().rss;
        const endless = resultOf(await call('exec', { command: 'yes | head -c 8M' }));
        expect(endless.stdout).toContain('bytes left out');
        expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
      }));

    it('stops the whole process tree at the time limit, and says so', () =>
      onStage(mode, async ({ exec, root }) => {
        using _held = holdTime();
        const mark = sleepMark();
        const begin = `echo begun; (sleep ${mark} &) ; sleep ${mark} & trap "" TERM; touch begun`;
        const command = `${begin}; sleep ${mark}; sleep ${mark}`;
        const running = callerOf(exec.tools)('exec', { command, timeoutSeconds: 15 });
        await until(() => existsSync(join(root, 'begun')));
        jest.advanceTimersByTime(15_000);
        const output = await running;
        expect(resultOf(output)).toMatchObject({
          stdout: 'begun\n',
          note: 'stopped after its time limit of 15 s',
        });
        expect(output.isError).toBe(true);
        await noneWith(mark);
      }));

    it('caps the requested time limit', () =>
      onStage(
        mode,
        async ({ exec }) => {
          const output = await callerOf(exec.tools)('exec', { command: 'sleep 60', timeoutSeconds: 1e9 });
          expect(resultOf(output).note).toContain('0.2 s');
          const tool = toolNamed(exec.tools, 'exec');
          expect(tool.timeoutMs({ command: 'x', timeoutSeconds: 0.1 })).toBeLessThan(
            tool.timeoutMs({ command: 'x' }),
          );
          expect(tool.timeoutMs({ command: 'x', timeoutSeconds: 9 })).toBe(tool.timeoutMs({ command: 'x' }));
        },
        { limits: { timeoutSeconds: 0.2 } },
      ));

    it('stops the whole process tree when the call is canceled, and rejects with the reason', () =>
      onStage(
        mode,
        async ({ exec }) => {
          const mark = sleepMark();
          const cancel = new AbortController();
          const running = callerOf(exec.tools)(
            'exec',
            { command: `sleep ${mark} & sleep ${mark}` },
            { signal: cancel.signal },
          );
          const settled = expect(running).rejects.toThrow('enough');
          await until(async () => (await processesWith(mark)).length > 0);
          cancel.abort(new LangoError('canceled', 'enough'));
          await settled;
          await noneWith(mark);
          await expect(
            callerOf(exec.tools)('exec', { command: 'touch late' }, { signal: cancel.signal }),
          ).rejects.toThrow('enough');
        },
        { limits: { timeoutSeconds: 600 } },
      ));

    it('leaves nothing behind when the command ends, for any way into the background', () =>
      onStage(mode, async ({ exec }) => {
        const mark = sleepMark();
        const apart = (name: string) => `setsid sh -c 'touch ${name}; exec sleep ${mark}'`;
        const begun = 'until [ -e a ] && [ -e b ]; do sleep 0.02; done';
        const command = `sleep ${mark} & (${apart('a')} > /dev/null 2>&1 &) ; ${apart('b')} & ${begun}; echo done`;
        expect(resultOf(await callerOf(exec.tools)('exec', { command })).stdout).toBe('done\n');
        await noneWith(mark);
      }));

    it('limits CPU time, memory and the size of files', () =>
      onStage(
        mode,
        async ({ exec }) => {
          const call = callerOf(exec.tools);
          const spun = resultOf(await call('exec', { command: 'while :; do :; done' }));
          expect(spun).toMatchObject({ exitCode: 152, note: 'stopped by the limit of 1 s CPU time' });
          const memory = resultOf(
            await call('exec', { command: `python3 -c 'bytearray(200 * 1024 * 1024)'` }),
          );
          expect(memory.stderr).toContain('MemoryError');
          const limits = 'ulimit -f; ulimit -Hc; cat /proc/self/oom_score_adj';
          expect(resultOf(await call('exec', { command: limits })).stdout).toMatch(
            /^(1048576|2097152)\n0\n1000\n$/,
          );
        },
        { limits: { cpuSeconds: 1, memoryMb: 64 } },
      ));

    it('needs an approval only outside the sandbox', () =>
      onStage(mode, async ({ exec }) => {
        const level = mode === 'required' ? 'moderate' : 'dangerous';
        expect(toolNamed(exec.tools, 'exec').danger({})).toBe(level);
        const background = toolNamed(exec.tools, 'exec_background');
        const actions = ['start', 'status', 'output', 'stop'];
        expect(
          actions.map((action) => [background.danger({ action }), background.effectOf!({ action })]),
        ).toEqual([
          [level, 'unsafe'],
          ['safe', 'pure'],
          ['safe', 'pure'],
          ['moderate', 'keyed'],
        ]);
      }));

    it('ends running commands when it is closed, and starts none afterwards', () =>
      onStage(mode, async ({ exec }) => {
        const mark = sleepMark();
        const call = callerOf(exec.tools);
        const running = call('exec', { command: `sleep ${mark}; true` });
        await until(async () => (await processesWith(mark)).length > 0);
        await exec.close();
        expect(resultOf(await running).exitCode).not.toBe(0);
        await noneWith(mark);
        await expect(call('exec', { command: 'true' })).rejects.toMatchObject({ code: 'unavailable' });
      }));
  });
}

describeSandboxed('a command in the sandbox', () => {
  it('is limited in its processes and its private /tmp', () =>
    onStage(
      'required',
      async ({ exec }) => {
        const call = callerOf(exec.tools);
        // The shell tries again for a while to start the processes that are too many.
        const background = async (input: object) =>
          (await call('exec_background', input)).content as { readonly id: string; readonly stderr: string };
        const command = 'for i in $(seq 1 40); do sleep 600 & done; echo all';
        const { id } = await background({ action: 'start', command });
        const errors = () => background({ action: 'output', id, stream: 'stderr' });
        await until(async () => (await errors()).stderr.includes('fork'));
        await background({ action: 'stop', id });
        const filled = resultOf(
          await call('exec', {
            command:
              'head -c 80M /dev/zero > /tmp/x; head -c 80M /dev/zero > /dev/shm/x; du -m /tmp/x /dev/shm/x',
          }),
        );
        expect(filled.stderr.match(/No space left/g)).toHaveLength(2);
      },
      { limits: { processes: 20, memoryMb: 64 } },
    ));

  it('dies with a killed server', async () => {
    const root = await mkdtemp(join(tmpdir(), 'lango-killed-'));
    const { sandbox } = await findSandbox('required', [root]);
    const mark = sleepMark();
    const launch = sandbox!.launch(
      {
        shell: '/bin/sh',
        command: `sleep ${mark} & setsid sleep ${mark}`,
        cwd: root,
        env: {},
        writable: [root],
        readable: [],
        fileBytes: 1024,
        limits: LIMITS,
      },
      false,
    );
    const script = `const { spawn } = require('node:child_process');
const { file, args, pipedInputs } = JSON.parse(process.argv[1]);
const stdio = ['ignore', 'ignore', 'inherit', ...pipedInputs.map(() => 'pipe')];
const child = spawn(file, args, { detached: true, stdio });
pipedInputs.forEach((input, index) => child.stdio[3 + index].end(Buffer.from(input)));`;
    const server = spawn(process.execPath, ['-e', script, JSON.stringify(launch)], { stdio: 'inherit' });
    const others = async () => (await processesWith(mark)).filter((id) => id !== server.pid);
    await until(async () => (await others()).length >= 3);
    server.kill('SIGKILL');
    await until(async () => (await others()).length === 0);
    await rm(root, { recursive: true });
  });

  it('works below a folder that is closed to others, on files that stay the account’s own', () =>
    onStage('required', async ({ exec, root }) => {
      const call = callerOf(exec.tools);
      await call('exec', { command: 'mkdir -p a && echo 1 > a/b && chmod 600 a/b' });
      expect(resultOf(await call('exec', { command: 'cat a/b && echo 2 >> a/b' })).stdout).toBe('1\n');
      expect(await readFile(join(root, 'a/b'), 'utf8')).toBe('1\n2\n');
    }));
});

describe('a command', () => {
  it('is checked before anything starts', () =>
    onStage('off', async ({ exec }) => {
      const { schema } = toolNamed(exec.tools, 'exec');
      const wrong = [
        {},
        { command: '' },
        { command: 'a\0b' },
        { command: 'x'.repeat(50_000) },
        { command: 'x', timeoutSeconds: 0 },
        { command: 'x', shell: '/bin/zsh' },
        { command: 'x', env: { 'A B': '1' } },
        { command: 'x', env: { A: 'a\0b' } },
        { command: 'x', env: Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`A${n}`, ''])) },
      ];
      for (const input of wrong) expect(schema.safeParse(input).success).toBe(false);
      expect(schema.safeParse({ command: 'x', cwd: '.', env: { A_1: '' }, timeoutSeconds: 1 }).success).toBe(
        true,
      );
    }));

  it('is not waited for when an escaped child process holds its output', () =>
    onStage('off', async ({ exec }) => {
      const mark = sleepMark();
      const escaped = `env -i setsid sh -c 'touch up; exec sleep ${mark}'`;
      const command = `${escaped} & until [ -e up ]; do sleep 0.02; done; echo out`;
      expect(resultOf(await callerOf(exec.tools)('exec', { command })).stdout).toBe('out\n');
      for (const pid of await processesWith(mark)) process.kill(pid);
    }));

  it('accepts the arguments of the offline sentences', () =>
    onStage('off', async ({ exec }) => {
      for (const { name, schema } of exec.tools) {
        expect(argumentsIn(name).length).toBeGreaterThan(0);
        expect(Object.keys(schema.shape)).toEqual(expect.arrayContaining([...argumentsIn(name)]));
      }
    }));

  it('needs an existing workspace', async () => {
    const exec = createExec({
      ...sharedDisk('/nowhere/at/all'),
      sandbox: undefined,
      network: false,
      environment: {},
      envAllow: [],
      limits: LIMITS,
      logger: (await import('../../../../src/core/logger.js')).silentLogger,
    });
    await expect(callerOf(exec.tools)('exec', { command: 'true' })).rejects.toMatchObject({
      code: 'unavailable',
    });
    await exec.close();
  });
});
