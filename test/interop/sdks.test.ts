import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../src/core/json.js';
import type { ClientEvent } from '../../src/index.js';
import { textPart } from '../../src/core/message.js';
import type { Run, RunEnd } from '../../src/core/run.js';
import { Obedient } from '../support/obedient-model.js';
import { PushReceiver } from '../support/push-receiver.js';
import { followOrders, scriptedAgent } from '../support/scripted-agent.js';
import type { TestServer } from '../support/server.js';
import { beginTask, sendText, startServer, untilEnded } from '../support/server.js';
import { cell, recordNotes, type Cell } from './cell.js';
import { LinePeer, folderOf } from './line-peer.js';
import type { Operation } from './sdks.js';
import { SDKS } from './sdks.js';

/**
 * The official SDKs as clients of a server, and as its remote agents, over each transport and version. Each test is a
 * cell of docs/reference/interop.md.
 */

const NOTES = { name: 'notes.txt', mediaType: 'text/plain', base64: btoa('buy milk') };
const AGENT_TOKEN = 'remote-7Qf2xW9kLr4TzB6vNc8d';

/** Runs `followOrders`, and the order "contents", which returns the text of the file. */
async function readOrFollow(run: Run, order: string): Promise<RunEnd> {
  if (order !== 'contents') return followOrders(run, order);
  const file = run.inputs.at(-1)!.message.parts[1];
  const text = file?.kind === 'file' && 'bytes' in file ? atob(file.bytes) : 'no file';
  run.emit({ type: 'text-delta', artifactId: 'answer', text, replace: false });
  return { state: 'completed' };
}

interface RemoteAgent {
  readonly name: string;
  readonly url: string;
  readonly allowPrivate: true;
  readonly token?: string;
}

describe.each(SDKS)('$name', (sdk) => {
  if (!folderOf(sdk)) {
    console.warn(
      `SKIPPED: ${sdk.name} is not installed: .ci/frameworks FOLDER, LANGO_TEST_FRAMEWORKS=FOLDER`,
    );
    it.skip('this SDK is not installed', () => undefined);
    return;
  }
  let peer: LinePeer;
  let sdkVersion: string;
  beforeAll(async () => {
    peer = new LinePeer(sdk);
    sdkVersion = (await peer.do('about')).version;
    recordNotes(sdk);
  });
  afterAll(() => peer[Symbol.asyncDispose]());

  describe('client', () => {
    let server: TestServer;
    let url: string;
    beforeAll(async () => {
      server = await startServer({
        agents: [scriptedAgent('worker', readOrFollow)],
        settings: {
          server: { port: 0, grpc: { enabled: true, port: 0 } },
          a2a: { publish: ['worker'], push: { textSeconds: 0.01 } },
          egress: { allowPrivate: ['127.0.0.1'] },
        },
      });
      url = `${server.address.origin}/agents/worker`;
    });
    afterAll(() => server.stop());

    describe.each(sdk.bindings)('%s %s', (transport, version) => {
      const at: Cell = { sdk, role: 'client', transport, version, sdkVersion: () => sdkVersion };
      const test = (operation: Operation, run: () => Promise<void>): void => cell(at, operation, run);
      const connect = (token: string): Promise<unknown> =>
        peer.do('connect', { url, transport, version, token });
      const begin = async (): Promise<string> =>
        (await peer.do('send', { text: 'wait', wait: false })).taskId;
      beforeAll(() => connect(server.address.token!));

      test('card', async () => {
        expect(
          await peer.do('connect', { url, transport, version, token: server.address.token! }),
        ).toMatchObject({
          name: 'worker',
          skills: ['orders'],
        });
      });
      test('extended card', async () => {
        expect(await peer.do('extended')).toMatchObject({ name: 'worker' });
      });
      test('send', async () => {
        const task = await peer.do('send', { text: 'say hello' });
        expect(task).toMatchObject({ state: 'completed', text: 'hello' });
      });
      test('stream', async () => {
        const task = await peer.do('stream', { text: 'chunks 3' });
        expect(task).toMatchObject({ state: 'completed', text: '<0><1><2>' });
        expect(task.events).toBeGreaterThan(2);
      });
      test('ask', async () => {
        const asked = await peer.do('send', { text: 'ask' });
        expect(asked).toMatchObject({ state: 'input-required', text: 'what shall I say?' });
        const { taskId } = asked;
        const answered = { taskId, state: 'completed', text: 'yes' };
        expect(await peer.do('send', { text: 'say yes', taskId })).toMatchObject(answered);
      });
      test('cancel', async () => {
        const taskId = await begin();
        expect(await peer.do('cancel', { taskId })).toMatchObject({ taskId, state: 'canceled' });
      });
      test('get', async () => {
        const { taskId } = await peer.do('send', { text: 'say hello' });
        expect(await peer.do('get', { taskId })).toMatchObject({ taskId, state: 'completed', text: 'hello' });
      });
      if (version === '1.0')
        test('list', async () => {
          const { taskId } = await peer.do('send', { text: 'say hello' });
          expect((await peer.do('list')).ids).toContain(taskId);
        });
      test('follow', async () => {
        const taskId = await begin();
        expect(await peer.do('follow', { taskId })).toMatchObject({ taskId, state: 'canceled' });
      });
      test('files', async () => {
        const { files } = await peer.do('send', { text: 'echo', file: NOTES });
        const { name, ...file } = NOTES;
        // The proto of 0.3 has no names of files.
        const hasNames = version === '1.0' || transport === 'JSONRPC';
        expect(files).toEqual([{ name: hasNames ? name : '', ...file }]);
        expect(await peer.do('send', { text: 'contents', file: NOTES })).toMatchObject({ text: 'buy milk' });
      });
      test('errors', async () => {
        expect((await peer.tryTo('get', { taskId: 'none' })).error).toMatch(/TaskNotFound/);
        const { taskId } = await peer.do('send', { text: 'say hello' });
        expect((await peer.tryTo('cancel', { taskId })).error).toMatch(/TaskNotCancelable/);
      });
      test('push', async () => {
        await using receiver = await PushReceiver.open();
        const taskId = await begin();
        const token = 'of-the-hook';
        expect(await peer.do('push', { taskId, url: receiver.url, token })).toMatchObject({
          url: receiver.url,
        });
        if (version === '1.0') expect((await peer.do('pushes', { taskId })).ids).toEqual(['hook']);
        await peer.do('cancel', { taskId });
        await receiver.until((got) => /canceled/i.test(got.at(-1)?.text ?? ''));
        expect(receiver.got.at(-1)!.headers['x-a2a-notification-token']).toBe(token);
        if (version === '1.0') await peer.do('unpush', { taskId });
      });
      test('auth', async () => {
        await connect('wrong');
        const refused = await peer.tryTo('send', { text: 'say hello' });
        await connect(server.address.token!);
        expect(refused.error).toBeDefined();
        expect(JSON.stringify(refused)).toMatch(/401|authenticat|unauthorized|bearer token is required/i);
      });
    });
  });

  if (sdk.roles?.includes('remote agent') === false) return;
  describe('remote agent', () => {
    let server: TestServer;
    const urls = new Map<string, string>();
    const nameOf = (transport: string, version: string): string =>
      `${transport}-${version}`.toLowerCase().replace(/[^a-z0-9-]/g, '');
    beforeAll(async () => {
      const remoteAgents: RemoteAgent[] = [];
      for (const [transport, version] of sdk.bindings) {
        for (const token of [undefined, AGENT_TOKEN]) {
          const { url } = await peer.do('serve', { transport, version, ...(token ? { token } : {}) });
          const name = `${nameOf(transport, version)}${token ? '-locked' : ''}`;
          urls.set(name, url);
          remoteAgents.push({ name, url, allowPrivate: true, ...(token ? { token } : {}) });
        }
      }
      const a2a = { enabled: true, remoteAgents };
      server = await startServer({ model: new Obedient(), settings: { server: { port: 0 }, a2a } });
    });
    afterAll(() => server.stop());

    describe.each(sdk.bindings)('%s %s', (transport, version) => {
      const at: Cell = { sdk, role: 'remote agent', transport, version, sdkVersion: () => sdkVersion };
      const test = (operation: Operation, run: () => Promise<void>): void => cell(at, operation, run);
      const name = nameOf(transport, version);
      const order = (request: string, agent_name = name): string =>
        `transfer_to_agent ${JSON.stringify({ agent_name, request } satisfies JsonObject)}`;
      const ask = (request: string, agent?: string) => sendText(server, order(request, agent));
      const seen = async (): Promise<readonly string[]> => (await peer.do('seen')).seen;

      test('card', async () => {
        const joined = server.log.lines.filter((line) => line.includes('agent joined'));
        expect(joined).toContainEqual(expect.stringContaining(`"${name}"`));
      });
      test('send', async () => {
        expect((await ask('say hello')).end).toMatchObject({ state: 'completed', text: 'hello' });
      });
      test('stream', async () => {
        const { end } = await ask('chunks 3');
        expect(end.text).toBe('<0><1><2>');
      });
      test('ask', async () => {
        const asked = await ask('ask');
        expect(asked.end).toMatchObject({ state: 'input-required' });
        expect(asked.end.text).toContain('what shall I say?');
        const { end } = await sendText(server, 'say yes', { taskId: asked.taskId });
        expect(end).toMatchObject({ state: 'completed', text: 'yes' });
      });
      test('cancel', async () => {
        const before = (await seen()).length;
        const taskId = await beginTask(server, order('wait'));
        while ((await seen()).length === before) await delay(20);
        await server.client.cancel({ taskId });
        expect((await untilEnded(server, taskId)).state).toBe('canceled');
        while ((await seen()).at(-1) !== 'canceled') await delay(20);
      });
      test('files', async () => {
        const { base64: bytes, mediaType } = NOTES;
        const parts = [textPart(order('echo')), { kind: 'file', bytes, mediaType } as const];
        const came: ClientEvent[] = [];
        for await (const event of server.client.send({ parts }, AbortSignal.timeout(100_000)))
          came.push(event);
        const files = came.flatMap((event) => (event.type === 'artifact' ? event.artifact.parts : []));
        expect(files).toContainEqual(expect.objectContaining({ bytes, mediaType }));
        expect(await peer.do('read')).toMatchObject({ text: 'buy milk' });
      });
      test('errors', async () => {
        expect((await ask('fail')).end.text).toContain('the disk is full');
        expect((await ask('refuse')).end.text).toContain('not my work');
      });
      test('auth', async () => {
        expect((await ask('say hello', `${name}-locked`)).end.text).toBe('hello');
        // A wrong token is refused, so the token above was checked.
        const url = urls.get(`${name}-locked`)!;
        await peer.do('connect', { url, transport, version, token: 'wrong' });
        expect((await peer.tryTo('send', { text: 'say hello' })).error).toBeDefined();
      });
    });
  });
});
