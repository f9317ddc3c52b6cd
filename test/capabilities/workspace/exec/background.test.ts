import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../../src/core/json.js';
import { BackgroundProcesses } from '../../../../src/capabilities/workspace/exec/background.js';
import { Capture } from '../../../../src/capabilities/workspace/exec/capture.js';
import type { ExitStatus } from '../../../../src/capabilities/workspace/exec/process.js';
import { until } from '../../../support/until.js';
import { callerOf } from '../../../support/tool-call.js';
import { describeSandboxed, openStage, noneWith, processesWith, sleepMark } from './setup.js';

const MODES = [
  ['in the sandbox', 'required', describeSandboxed],
  ['without a sandbox', 'off', describe],
] as const;

for (const [title, mode, describeMode] of MODES) {
  describeMode(`a long-running command ${title}`, () => {
    it('is started, watched, read in parts and stopped', async () => {
      const { exec, close } = await openStage(mode);
      const call = async (name: string, input: object) =>
        (await callerOf(exec.tools)(name, input)).content as JsonObject;
      const mark = sleepMark();
      const { id } = await call('exec_background', {
        action: 'start',
        command: `echo one; echo two; echo bad >&2; sleep ${mark} & wait`,
      });
      await until(async () => (await call('exec_background', { action: 'status', id })).stderrBytes === 4);
      expect(await call('exec_background', { action: 'status' })).toMatchObject([
        { id, state: 'running', stdoutBytes: 8 },
      ]);
      const first = await call('exec_background', { action: 'output', id, limit: 4 });
      expect(first).toEqual({ stdout: 'one\n', nextOffset: 4, totalBytes: 8, state: 'running' });
      expect(await call('exec_background', { action: 'output', id, offset: 4 })).toMatchObject({
        stdout: 'two\n',
        nextOffset: 8,
      });
      expect(await call('exec_background', { action: 'output', id, offset: 99 })).toMatchObject({
        stdout: '',
        nextOffset: 8,
      });
      expect(await call('exec_background', { action: 'output', id, stream: 'stderr' })).toMatchObject({
        stderr: 'bad\n',
      });
      expect(await call('exec_background', { action: 'stop', id })).toMatchObject({ id, state: 'ended' });
      await noneWith(mark);
      expect(await call('exec_background', { action: 'stop', id })).toMatchObject({ id, state: 'ended' });
      expect(await call('exec_background', { action: 'output', id })).toMatchObject({
        stdout: 'one\ntwo\n',
        state: 'ended',
      });
      await close();
    });

    it('reports with each part of its output which secrets it got', async () => {
      const { exec, close } = await openStage(mode);
      const call = async (input: object) =>
        (await callerOf(exec.tools)('exec_background', input)).content as JsonObject;
      const { id } = await call({ action: 'start', command: 'echo $T | rev', env: { T: '{{secret:api}}' } });
      const output = () => call({ action: 'output', id });
      await until(async () => (await output())['state'] === 'ended');
      expect(await output()).toMatchObject({ mayContainSecrets: ['api'] });
      await close();
    });

    it('is ended when the family is closed', async () => {
      const { exec, close } = await openStage(mode);
      const mark = sleepMark();
      await callerOf(exec.tools)('exec_background', {
        action: 'start',
        command: `setsid sleep ${mark}; true`,
      });
      await until(async () => (await processesWith(mark)).length > 0);
      await close();
      await noneWith(mark);
    });
  });
}

describe('the handles of processes', () => {
  it('belong to their owner: for others there is no such process', async () => {
    const { exec, close } = await openStage('off');
    const call = callerOf(exec.tools);
    const { id } = (await call('exec_background', { action: 'start', command: 'sleep 60' }))
      .content as JsonObject;
    const others = [{ owner: 'bob' }, { tenant: 'elsewhere' }];
    for (const other of others) {
      expect((await call('exec_background', { action: 'status' }, other)).content).toBe(
        'No process was started.',
      );
      for (const action of ['status', 'output', 'stop']) {
        await expect(call('exec_background', { action, id }, other)).rejects.toThrow(
          `there is no process "${id as string}"`,
        );
      }
    }
    await expect(call('exec_background', { action: 'stop', id: 'feedbeef' })).rejects.toMatchObject({
      code: 'not-found',
    });
    expect((await call('exec_background', { action: 'status', id })).content).toMatchObject({
      state: 'running',
    });
    await close();
  });

  it('are limited in number for each owner', async () => {
    const { exec, close } = await openStage('off');
    const call = callerOf(exec.tools);
    const start = (owner: string) =>
      call('exec_background', { action: 'start', command: 'sleep 60' }, { owner });
    const started = await Promise.allSettled(Array.from({ length: 9 }, () => start('alice')));
    expect(started.map(({ status }) => status).sort()).toEqual([
      ...Array<string>(8).fill('fulfilled'),
      'rejected',
    ]);
    await expect(start('alice')).rejects.toMatchObject({ code: 'too-many' });
    await start('bob');
    const [first] = (await call('exec_background', { action: 'status' })).content as JsonObject[];
    await call('exec_background', { action: 'stop', id: first!.id });
    await start('alice');
    await close();
  });

  it('are limited in number for all owners together, the ended ones too', async () => {
    const background = new BackgroundProcesses();
    const ends: (() => void)[] = [];
    const start = (owner: string) =>
      background.start({ tenant: '', owner }, { command: 'x', secrets: [] }, async () => {
        const ended = new Promise<ExitStatus>((resolve) => ends.push(() => resolve({ exitCode: 0 })));
        const output = new Capture(8);
        return {
          stdout: output,
          stderr: output,
          ended,
          stop: () => ended,
          killNow: () => {},
          problem: () => undefined,
        };
      });
    const owners = Array.from({ length: 64 }, (_, n) => `owner-${n}`);
    for (const owner of owners) await start(owner);
    await expect(start('alice')).rejects.toMatchObject({ code: 'too-many', retryable: true });
    for (const end of ends) end();
    await until(() => background.list({ tenant: '', owner: 'owner-63' })[0]!.end !== undefined);
    await start('alice');
    ends.at(-1)!();
    await until(() => background.list({ tenant: '', owner: 'owner-0' }).length === 0);
    const kept = owners.filter((owner) => background.list({ tenant: '', owner }).length > 0);
    expect(kept).toEqual(owners.slice(1));
  });

  it('are dropped once their processes have ended, the oldest first', async () => {
    const { exec, close } = await openStage('off');
    const call = callerOf(exec.tools);
    const ids: unknown[] = [];
    for (let round = 0; round < 10; round += 1) {
      const { id } = (await call('exec_background', { action: 'start', command: 'true' }))
        .content as JsonObject;
      ids.push(id);
      await until(
        async () =>
          ((await call('exec_background', { action: 'status', id })).content as JsonObject).state === 'ended',
      );
    }
    const left = (await call('exec_background', { action: 'status' })).content as JsonObject[];
    expect(left.map(({ id }) => id)).toEqual(ids.slice(2));
    await close();
  });
});
