import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { PushReceiver, answerText, numbers, states } from '../../support/push-receiver.js';
import { startPushServer, withPushServer } from '../../support/push-server.js';

/** Push notifications over the wire: a real server, a real receiver on loopback. */
describe('push notifications', () => {
  it('deliver every event of the task in order and the whole text, for a config inside SendMessage', async () => {
    await using receiver = await PushReceiver.open();
    await withPushServer({}, async (server) => {
      const taskId = await server.send('chunks 40', { push: { url: receiver.url } });
      await receiver.untilEnd();
      expect(states(receiver.got)).toEqual(['TASK_STATE_WORKING', 'TASK_STATE_COMPLETED']);
      expect(answerText(receiver.got)).toBe(Array.from({ length: 40 }, (_, i) => `<${i}>`).join(''));
      const seqs = numbers(receiver.got);
      expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
      expect(new Set(seqs).size).toBe(seqs.length);
      // Chunks that have waited are delivered as one.
      expect(receiver.got.length).toBeLessThan(40);
      for (const { headers, body } of receiver.got) {
        expect(headers['content-type']).toBe('application/a2a+json');
        expect(Object.keys(body)).toHaveLength(1);
        expect(JSON.stringify(body)).toContain(taskId);
      }
    });
  });

  it('end with the last delivery of the task, which removes the config', async () => {
    await using receiver = await PushReceiver.open();
    await withPushServer({}, async (server) => {
      const taskId = await server.send('ask', { push: { id: 'mine', url: receiver.url } });
      await receiver.until((got) => states(got).includes('TASK_STATE_INPUT_REQUIRED'));
      expect(
        (await server.rest('GET', `/tasks/${taskId}/pushNotificationConfigs`)).json['configs'],
      ).toHaveLength(1);
      await server.send('say done', { taskId });
      await receiver.untilEnd();
      await eventually(async () => {
        const { json } = await server.rest('GET', `/tasks/${taskId}/pushNotificationConfigs`);
        expect(json).toEqual({ configs: [] });
      });
      expect(states(receiver.got).filter((state) => state === 'TASK_STATE_COMPLETED')).toHaveLength(1);
    });
  });

  it('deliver the Task to a config that is created after the end, and remove the config', async () => {
    await using receiver = await PushReceiver.open();
    await withPushServer({}, async (server) => {
      const taskId = await server.send('say hi');
      await eventually(async () => {
        const { result } = await server.rpc('GetTask', { id: taskId });
        expect(result['status']!['state']).toBe('TASK_STATE_COMPLETED');
      });
      await server.rpc('CreateTaskPushNotificationConfig', { taskId, url: receiver.url });
      await receiver.until((got) => got.length > 0);
      const { body } = receiver.got[0]!;
      expect(body['task']).toMatchObject({ id: taskId, status: { state: 'TASK_STATE_COMPLETED' } });
      expect(JSON.stringify(body)).toContain('"hi"');
      await eventually(async () => {
        const { json } = await server.rest('GET', `/tasks/${taskId}/pushNotificationConfigs`);
        expect(json).toEqual({ configs: [] });
      });
      expect(receiver.got).toHaveLength(1);
    });
  });

  it('carry what the config specifies, and a signature that the published keys verify', async () => {
    await using receiver = await PushReceiver.open();
    await withPushServer({}, async (server) => {
      const authentication = { scheme: 'Bearer', credentials: 'for-the-receiver' };
      const taskId = await server.send('say hi', {
        push: { url: receiver.url, token: 'a-token', authentication },
      });
      await receiver.untilEnd();
      const { origin } = server.address;
      const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', origin));
      for (const { headers, text } of receiver.got) {
        expect(headers.authorization).toBe('Bearer for-the-receiver');
        expect(headers['x-a2a-notification-token']).toBe('a-token');
        const jwt = String(headers['x-a2a-notification-signature']);
        const { payload } = await jwtVerify(jwt, keys, {
          issuer: origin,
          audience: new URL(receiver.url).origin,
          algorithms: ['EdDSA'],
        });
        expect(payload).toMatchObject({
          jti: headers['x-a2a-notification-id'],
          task_id: taskId,
          iat: Number(headers['x-a2a-notification-timestamp']),
          body_sha256: createHash('sha256').update(text).digest('base64url'),
        });
      }
      expect(new Set(receiver.got.map(({ headers }) => headers['x-a2a-notification-id'])).size).toBe(
        receiver.got.length,
      );
    });
  });

  it('never return, log or store the secrets of a config in the clear', async () => {
    await using receiver = await PushReceiver.open();
    await withPushServer({ push: { tries: 1 } }, async (server) => {
      const isRead = Promise.withResolvers<void>();
      receiver.answer = () => isRead.promise.then(() => 500);
      const taskId = await server.send('ask');
      const config = {
        taskId,
        id: 'c',
        url: receiver.url,
        token: 'tokensecret',
        authentication: { scheme: 'Basic', credentials: 'credentialsecret' },
      };
      const created = await server.rpc('CreateTaskPushNotificationConfig', config);
      const got = await server.rpc('GetTaskPushNotificationConfig', { taskId, id: 'c' });
      const listed = await server.rpc('ListTaskPushNotificationConfigs', { taskId });
      expect(created.result).toEqual({
        id: 'c',
        taskId,
        url: receiver.url,
        authentication: { scheme: 'Basic' },
      });
      expect(got.result).toEqual(created.result);
      expect(listed.result).toEqual({ configs: [created.result] });
      isRead.resolve();
      await server.send('say bye', { taskId });
      await receiver.until((all) => all.length > 0);
      await eventually(async () =>
        expect(server.log.lines.join('\n')).toContain('push notifications given up'),
      );
      expect(server.log.lines.join('\n')).not.toMatch(/tokensecret|credentialsecret/);
      const { readFileSync, readdirSync } = await import('node:fs');
      for (const file of readdirSync(server.home).filter((name) => name.startsWith('lango.db'))) {
        const content = readFileSync(`${server.home}/${file}`);
        for (const value of ['tokensecret', 'credentialsecret']) expect(content.includes(value)).toBe(false);
      }
    });
  });
});

describe('push notifications that fail', () => {
  it('are retried in order, with the same id and body, until they are accepted', async () => {
    await using receiver = await PushReceiver.open();
    receiver.answer = (_received, number) => (number % 3 === 0 ? 200 : number % 3 === 1 ? 503 : 404);
    await withPushServer({}, async (server) => {
      await server.send('chunks 5', { push: { url: receiver.url } });
      await receiver.until((got) => got.length % 3 === 0 && states(got).includes('TASK_STATE_COMPLETED'));
      const ids = receiver.got.map(({ headers }) => headers['x-a2a-notification-id']);
      for (let i = 0; i < ids.length; i += 3) {
        expect(new Set(ids.slice(i, i + 3)).size).toBe(1);
        expect(new Set(receiver.got.slice(i, i + 3).map(({ text }) => text)).size).toBe(1);
      }
      const taken = receiver.got.filter((_, index) => index % 3 === 2);
      expect(answerText(taken)).toBe('<0><1><2><3><4>');
      expect(states(taken)).toEqual(['TASK_STATE_WORKING', 'TASK_STATE_COMPLETED']);
    });
  });

  it('are given up after the configured tries, which the log, the status page and the client show', async () => {
    await using receiver = await PushReceiver.open();
    receiver.answer = () => 500;
    await withPushServer({ push: { tries: 3 } }, async (server) => {
      const taskId = await server.send('chunks 3', { push: { id: 'c', url: receiver.url } });
      await eventually(async () =>
        expect(server.log.lines.join('\n')).toContain('push notifications given up'),
      );
      expect(receiver.got).toHaveLength(3);
      const { error } = await server.rpc('GetTaskPushNotificationConfig', { taskId, id: 'c' });
      expect(error?.code).toBe(-32001);
      const status = (await (await server.fetch('/lango/agents')).json()) as object;
      expect(status).toMatchObject({ push: { active: 0, givenUp: 1 } });
    });
  });

  it("wait as long as the receiver's Retry-After says", async () => {
    await using receiver = await PushReceiver.open();
    const at: number[] = [];
    receiver.answer = (_received, number) => {
      at.push(Date.now());
      return number === 1 ? { status: 429, headers: { 'retry-after': '1' } } : 200;
    };
    await withPushServer({}, async (server) => {
      await server.send('say hi', { push: { url: receiver.url } });
      await receiver.untilEnd();
      expect(at[1]! - at[0]!).toBeGreaterThanOrEqual(990);
    });
  });

  it('wait their full pause although events came during the attempt', async () => {
    await using receiver = await PushReceiver.open();
    const ended = Promise.withResolvers<void>();
    const at: number[] = [];
    receiver.answer = async (_received, number) => {
      if (number === 1) await ended.promise;
      at.push(Date.now());
      return number === 1 ? 503 : 200;
    };
    await withPushServer({ push: { retrySeconds: 1, maxRetrySeconds: 1 } }, async (server) => {
      const taskId = await server.send('chunks 3', { push: { url: receiver.url } });
      await eventually(async () => {
        const { result } = await server.rpc('GetTask', { id: taskId });
        expect(result['status']!['state']).toBe('TASK_STATE_COMPLETED');
      });
      ended.resolve();
      await receiver.untilEnd();
      expect(at[1]! - at[0]!).toBeGreaterThanOrEqual(990);
    });
  });

  it('do not follow a redirect, which counts as a refusal', async () => {
    await using other = await PushReceiver.open();
    await using receiver = await PushReceiver.open();
    receiver.answer = () => ({ status: 307, headers: { location: other.url } });
    await withPushServer({}, async (server) => {
      await server.send('say hi', { push: { url: receiver.url } });
      await eventually(async () =>
        expect(server.log.lines.join('\n')).toContain('responded with a redirect'),
      );
      expect(receiver.got).toHaveLength(1);
      expect(other.got).toHaveLength(0);
    });
  });

  it('resume from the cursor after the server was stopped and started again', async () => {
    await using receiver = await PushReceiver.open();
    const home = await mkdtemp(path.join(tmpdir(), 'lango-push-'));
    try {
      receiver.answer = () => 503;
      const first = await startPushServer({ home, push: { retrySeconds: 0.1 } });
      await first.send('chunks 6', { push: { url: receiver.url } });
      await receiver.until((got) => got.length > 1);
      await first.stop();
      const before = receiver.got.length;
      receiver.answer = () => 200;
      const second = await startPushServer({ home });
      try {
        await receiver.until((got) => states(got.slice(before)).includes('TASK_STATE_COMPLETED'), 'the end');
        expect(answerText(receiver.got.slice(before))).toBe('<0><1><2><3><4><5>');
        expect(receiver.got[before]!.headers['x-a2a-notification-id']).toBe(
          receiver.got[0]!.headers['x-a2a-notification-id'],
        );
      } finally {
        await second.stop();
      }
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });

  it('never slow a task, although the receiver does not respond and its host is at the limit', async () => {
    await using receiver = await PushReceiver.open();
    receiver.answer = () => 'silence';
    await withPushServer({ push: { perHost: 2, timeoutSeconds: 0.2 } }, async (server) => {
      for (let i = 0; i < 6; i += 1) {
        const push = { url: receiver.url };
        const message = { messageId: `m${i}`, role: 'ROLE_USER', parts: [{ text: 'chunks 3' }] };
        const { result } = await server.rpc('SendMessage', {
          message,
          configuration: { taskPushNotificationConfig: push },
        });
        expect(result['task']!['status']!['state']).toBe('TASK_STATE_COMPLETED');
      }
      await receiver.until((got) => got.length >= 4, 'second attempts');
      expect(receiver.mostOpen).toBe(2);
    });
  });
});

/** Repeats the assertion until it holds. */
async function eventually(holds: () => Promise<void>): Promise<void> {
  const begun = performance.now();
  for (;;) {
    try {
      await holds();
      return;
    } catch (error) {
      if (performance.now() - begun > 100_000) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
