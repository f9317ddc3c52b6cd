import { describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { TaskReading } from '../../src/a2a/server/task-reading.js';
import type { ServerOptions } from '../../src/index.js';
import { Replay } from '../../src/journal/replay.js';
import type { TestServer } from '../support/server.js';
import { until } from '../support/until.js';
import { decide, doings, sendText, startServer, untilEnded, withServer } from '../support/server.js';

/** Approvals over A2A with the offline model, the real tools and a real server. */

const REQUEST = 'delete the folder old with everything in it';

function options(approval: object = {}, home?: string): ServerOptions {
  const settings = { server: { port: 0 }, tools: { fs: { enabled: true } }, approval };
  return { settings, ...(home === undefined ? {} : { home }) };
}

/** The folder that the request names. */
async function fill(server: TestServer): Promise<string> {
  const folder = path.join(server.home, 'workspace', 'old');
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'a.txt'), 'a');
  return folder;
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Weak references to all objects of a class whose method is called from now on. */
function seenBy<Name extends string>(prototype: Record<Name, () => unknown>, method: Name) {
  const seen: WeakRef<object>[] = [];
  const original = prototype[method];
  prototype[method] = function (this: object) {
    seen.push(new WeakRef(this));
    return original.call(this as typeof prototype);
  };
  return seen;
}

describe('a call that waits for a person', () => {
  it('is made once they approve its hash, and after no other reply', async () => {
    await withServer(options(), async (server) => {
      const folder = await fill(server);
      const asked = await sendText(server, REQUEST);
      expect(asked.end).toMatchObject({
        state: 'input-required',
        questions: [{ kind: 'approval', author: 'operator', tool: 'fs_delete', arguments: { path: 'old' } }],
      });
      for (const words of ['approved, go on', 'yes', 'list the files']) {
        const prose = await sendText(server, words, { taskId: asked.taskId });
        expect(prose.end).toMatchObject({ state: 'input-required', questions: asked.end.questions });
        expect(prose.end.text).toContain('Any other reply leaves this open');
        expect(doings(prose)).toEqual([]);
      }
      expect(existsSync(folder)).toBe(true);

      const done = await decide(server, asked, { decision: 'approve' });
      expect(done.end.state).toBe('completed');
      expect(doings(done)).toEqual([
        'lango-orchestrator: delegation-start operator',
        'operator: tool-call fs_delete',
        'operator: tool-result fs_delete',
        'lango-orchestrator: delegation-end operator',
      ]);
      expect(done.end.text).toContain('deleted old with 1 item in it');
      expect(existsSync(folder)).toBe(false);
      await fill(server);
      expect((await decide(server, asked, { decision: 'approve' })).end.state).toBe('failed');
      expect(existsSync(folder)).toBe(true);
    });
  });

  it('leaves nothing of its tasks in memory once they have ended', async () => {
    const replays = seenBy(Replay.prototype, 'copy');
    const readings = seenBy(TaskReading.prototype, 'toSnapshot');
    await withServer(options(), async (server) => {
      await fill(server);
      const asked = await sendText(server, REQUEST);
      await decide(server, asked, { decision: 'approve' });
      const { taskId } = await sendText(server, REQUEST);
      expect((await server.fetch(`/tasks/${taskId}:cancel`, { method: 'POST' })).status).toBe(200);
      const seen = [...replays, ...readings];
      expect(Math.min(replays.length, readings.length)).toBeGreaterThan(0);
      await until(() => {
        collectGarbage();
        return seen.every((one) => one.deref() === undefined);
      });
    });
  });

  it('is made once a plain client repeats the words of the question, with or without the task', async () => {
    await withServer(options(), async (server) => {
      for (const isSameTask of [true, false]) {
        const folder = await fill(server);
        const contextId = `context-${isSameTask}`;
        const asked = await sendText(server, REQUEST, { contextId });
        const [, approve] = /Reply: (approve [0-9A-Z]{4}), or: deny /.exec(asked.end.text)!;
        const where = isSameTask ? { taskId: asked.taskId } : { contextId };
        const wrong = await sendText(server, 'approve 0000', where);
        expect(existsSync(folder)).toBe(true);
        if (isSameTask) expect(wrong.end.text).toContain('Any other reply leaves this open');
        const yes = await sendText(server, 'yes', where);
        expect(yes).toMatchObject({ taskId: asked.taskId, end: { state: 'input-required' } });
        expect(yes.end.text).toContain(approve);
        const done = await sendText(server, `${approve!.toLowerCase()}.`, where);
        expect(done).toMatchObject({ taskId: asked.taskId, end: { state: 'completed' } });
        expect(existsSync(folder)).toBe(false);
      }
    });
  });

  it('is not made when the approval comes after its time, even just after it', async () => {
    await withServer(options({ expirySeconds: 2 }), async (server) => {
      const folder = await fill(server);
      const asked = await sendText(server, REQUEST);
      await sleep(asked.end.questions[0]!.expiresAt! - Date.now() + 20);
      const late = await decide(server, asked, { decision: 'approve' });
      expect(doings(late)).not.toContain('operator: tool-call fs_delete');
      expect(existsSync(folder)).toBe(true);
    });
  });

  it.each(['no', 'Deny.'])('is refused by the plain reply %j', async (words) => {
    await withServer(options(), async (server) => {
      const folder = await fill(server);
      const asked = await sendText(server, REQUEST, { contextId: 'talk' });
      const denied = await sendText(server, words, { contextId: 'talk' });
      expect(denied.taskId).toBe(asked.taskId);
      expect(denied.end.state).not.toBe('input-required');
      expect(existsSync(folder)).toBe(true);
    });
  });

  it('is not made after a refusal, whose reason the model gets', async () => {
    await withServer(options(), async (server) => {
      const folder = await fill(server);
      const asked = await sendText(server, REQUEST);
      const denied = await decide(server, asked, { decision: 'deny', text: 'there are letters in it' });
      expect(denied.end.state).toBe('completed');
      expect(denied.end.text).toContain('a person refused this call ("there are letters in it")');
      expect(existsSync(folder)).toBe(true);
    });
  });

  it('is not made when nobody replies in time, and the task continues', async () => {
    await withServer(options({ expirySeconds: 2 }), async (server) => {
      const folder = await fill(server);
      const asked = await sendText(server, REQUEST);
      expect(asked.end.state).toBe('input-required');
      const task = await untilEnded(server, asked.taskId);
      expect(task.state).toBe('completed');
      expect(JSON.stringify(task.artifacts)).toMatch(
        /nobody allowed this call in time|nobody replied in time/,
      );
      expect((await decide(server, asked, { decision: 'approve' })).end.state).toBe('failed');
      expect(existsSync(folder)).toBe(true);
    });
  });

  it('expires after a restart too, as its time is in the journal', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'lango-test-'));
    try {
      const first = await startServer(options({ expirySeconds: 2 }, home));
      const folder = await fill(first);
      const asked = await sendText(first, REQUEST);
      await first.stop();
      await sleep(asked.end.questions[0]!.expiresAt! - Date.now() + 20);
      // The current configuration applies to questions from now on.
      const second = await startServer(options({}, home));
      try {
        const task = await untilEnded(second, asked.taskId);
        expect(task.state).toBe('completed');
        expect(JSON.stringify(task.artifacts)).toMatch(/in time/);
        expect(existsSync(folder)).toBe(true);
      } finally {
        await second.stop();
      }
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });
});

describe('approval.policy', () => {
  it.each([
    ['none', 'list the files', 'completed'],
    ['none', REQUEST, 'completed'],
    ['all', 'list the files', 'input-required'],
    [['fs_list'], 'list the files', 'input-required'],
    [['fs_list'], REQUEST, 'completed'],
  ] as const)('%j lets the request "%s" end as %s', async (policy, request, state) => {
    await withServer(options({ policy }), async (server) => {
      await fill(server);
      expect((await sendText(server, request)).end.state).toBe(state);
    });
  });

  it.each([
    ['dangerous', 'so each one waits for approval'],
    ['none', 'and approval.policy asks nobody'],
    [['exec'], 'so each one waits for approval'],
    [['fs_delete'], 'and approval.policy asks nobody'],
  ] as const)('%j makes the log say of commands without a sandbox: %s', async (policy, words) => {
    const { settings } = options({ policy });
    const exec = { enabled: true, sandbox: 'off' } as const;
    await withServer({ settings: { ...settings, tools: { ...settings!.tools, exec } } }, async (server) => {
      expect(server.log.lines).toContainEqual(
        expect.stringContaining(`commands run without a sandbox, ${words}`),
      );
    });
  });

  it('is warned about when its list has a name that is no tool', async () => {
    await withServer(options({ policy: ['fs_list', 'fs_lst'] }), async (server) => {
      const idle = server.log.lines.filter((line) => line.includes('approval.policy names'));
      expect(idle).toEqual([expect.stringMatching(/"warn".*fs_lst, but no tool here has that name/)]);
    });
  });
});
