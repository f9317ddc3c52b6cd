import { afterEach, describe, expect, it } from '@jest/globals';
import { assertInputModes } from '../../../src/a2a/server/modes.js';
import type { A2aNode } from '../../support/a2a-node.js';
import { startA2aNode } from '../../support/a2a-node.js';
import { ask, rpc, sseEvents, userMessage } from '../../support/a2a-requests.js';
import { askGrpc } from '../../support/grpc-asked.js';
import { scriptedAgent } from '../../support/scripted-agent.js';

/** Line 11 of issue 14: what careful clients found at the edge of the protocol. */
describe('the edge of the protocol', () => {
  let node: A2aNode;

  afterEach(() => node.stop());

  async function start(grpc = false): Promise<void> {
    const agent = scriptedAgent('operator', async (run) => {
      await run.append({ type: 'turn-start', step: 't1' });
      return { state: 'completed' };
    });
    node = await startA2aNode({ agents: [agent], grpc });
  }

  it('echoes the id of an invalid request, when it can be read', async () => {
    await start();
    const { json } = await ask(node, '/', { body: { jsonrpc: '1.0', id: 'a-7', method: 'GetTask' } });
    expect(json).toMatchObject({ id: 'a-7', error: { code: -32600 } });
    const broken = await ask(node, '/', { body: { jsonrpc: '2.0', id: {}, method: 'GetTask' } });
    expect(broken.json).toMatchObject({ id: null, error: { code: -32600 } });
  });

  it('takes `data: null`, and keeps it', async () => {
    await start();
    const sent = userMessage('', { parts: [{ data: null }, { text: 'x' }] });
    const { json } = await rpc(node, 'SendMessage', sent);
    expect(json.result.task.history[0]!.parts).toEqual([{ data: null }, { text: 'x' }]);
  });

  it('reads the version from the query in any case', async () => {
    await start();
    for (const name of ['A2A-Version', 'a2a-version', 'A2A-VERSION'])
      expect((await ask(node, `/tasks?${name}=9.9`)).json.error.details[0]!.reason).toBe(
        'VERSION_NOT_SUPPORTED',
      );
  });

  it('tells a gRPC call without its tenant so, for programs', async () => {
    await start(true);
    const { reason } = await askGrpc(node.grpc, { method: 'getTask', params: { id: 'x' } });
    expect(reason).toBe('TENANT_REQUIRED');
  });

  it('says once that a run is in work, and answers at its path with a slash too', async () => {
    await start();
    const body = { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: userMessage('go') };
    for (const extensions of [undefined, '']) {
      const headers: Record<string, string> =
        extensions === undefined ? {} : { 'A2A-Extensions': extensions };
      const params = userMessage('go');
      const { text } = await ask(node, '/agents/operator/', { body: { ...body, params }, headers });
      const states = sseEvents(text).map(({ data }) => data.result.statusUpdate?.status.state);
      expect(states).toEqual([undefined, 'TASK_STATE_WORKING', 'TASK_STATE_COMPLETED']);
    }
  });

  it('sends the metadata of extensions to those who asked', async () => {
    await start();
    const plain = await ask(node, '/message:send', {
      body: userMessage('go'),
      headers: { 'A2A-Extensions': '' },
    });
    expect(plain.text).not.toContain('urn:lango');
    const asked = await ask(node, '/message:send', { body: userMessage('go') });
    expect(asked.text).toContain('urn:lango:a2a:usage:v1');
  });

  it('accepts a file without a media type where files are accepted', async () => {
    await start();
    const file = { kind: 'file', url: 'https://a.example/b' } as const;
    expect(() => assertInputModes([file], ['text/plain', 'image/png'])).not.toThrow();
    expect(() => assertInputModes([file], ['text/plain', 'application/json'])).toThrow(/does not take/);
  });
});
