import { afterEach, describe, expect, it } from '@jest/globals';
import { assertInputModes } from '../../../src/a2a/server/modes.js';
import type { A2aNode } from '../../support/a2a-node.js';
import { startA2aNode } from '../../support/a2a-node.js';
import { ask, rpc, sseEvents, userMessage } from '../../support/a2a-requests.js';
import { askGrpc } from '../../support/grpc-asked.js';
import { scriptedAgent } from '../../support/scripted-agent.js';

/** Line 11 of issue 14: edge cases of the protocol that careful clients have found. */
describe('an edge case of the protocol', () => {
  let node: A2aNode;

  afterEach(() => node.stop());

  async function start(grpc = false): Promise<void> {
    const agent = scriptedAgent('operator', async (run) => {
      await run.append({ type: 'turn-start', step: 't1' });
      return { state: 'completed' };
    });
    node = await startA2aNode({ agents: [agent], grpc });
  }

  it('an invalid request gets its id back when the id can be read', async () => {
    await start();
    const { json } = await ask(node, '/', { body: { jsonrpc: '1.0', id: 'a-7', method: 'GetTask' } });
    expect(json).toMatchObject({ id: 'a-7', error: { code: -32600 } });
    const broken = await ask(node, '/', { body: { jsonrpc: '2.0', id: {}, method: 'GetTask' } });
    expect(broken.json).toMatchObject({ id: null, error: { code: -32600 } });
  });

  it('a part with `data: null` is accepted and kept', async () => {
    await start();
    const sent = userMessage('', { parts: [{ data: null }, { text: 'x' }] });
    const { json } = await rpc(node, 'SendMessage', sent);
    expect(json.result.task.history[0]!.parts).toEqual([{ data: null }, { text: 'x' }]);
  });

  it('the version in the query is read in any case', async () => {
    await start();
    for (const name of ['A2A-Version', 'a2a-version', 'A2A-VERSION'])
      expect((await ask(node, `/tasks?${name}=9.9`)).json.error.details[0]!.reason).toBe(
        'VERSION_NOT_SUPPORTED',
      );
  });

  it('a gRPC call without its tenant reaches the root agent, as a call of the path / does', async () => {
    await start(true);
    const params = userMessage('x');
    const { said } = await askGrpc(node.grpc, { method: 'sendMessage', params });
    expect(said).toMatchObject([{ payload: { $case: 'task' } }]);
    const { reason } = await askGrpc(node.grpc, { method: 'getTask', params: { id: 'x' } });
    expect(reason).toBe('TASK_NOT_FOUND');
  });

  it('an unknown task gets the words of the example of 9.5 over each transport', async () => {
    await start(true);
    const words = expect.stringContaining('Task not found');
    expect((await rpc(node, 'GetTask', { id: 'x' })).json.error.message).toEqual(words);
    expect((await ask(node, '/tasks/x')).json.error.message).toEqual(words);
    const { text } = await askGrpc(node.grpc, { method: 'getTask', params: { id: 'x' } });
    expect(text).toEqual(words);
  });

  it('a stream reports "working" once, also at the agent\'s path with a trailing slash', async () => {
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

  it('the metadata of an extension is sent only to a client that asked for the extension', async () => {
    await start();
    const plain = await ask(node, '/message:send', {
      body: userMessage('go'),
      headers: { 'A2A-Extensions': '' },
    });
    expect(plain.text).not.toContain('urn:lango');
    const asked = await ask(node, '/message:send', { body: userMessage('go') });
    expect(asked.text).toContain('urn:lango:a2a:usage:v1');
  });

  it('JSON of a type of its own is accepted by an agent that takes JSON', async () => {
    await start();
    const mediaType = 'application/vnd.ag2.history+json';
    const sent = userMessage('go', { parts: [{ text: 'go' }, { data: { events: [] }, mediaType }] });
    const { json } = await rpc(node, 'SendMessage', sent);
    expect(json.result.task.history[0]!.parts[1]).toEqual({ data: { events: [] }, mediaType });
    const data = { kind: 'data', data: {}, mediaType } as const;
    expect(() => assertInputModes([data], ['text/plain'])).toThrow(/does not take/);
  });

  it('a file without a media type is accepted by an agent that accepts files', async () => {
    await start();
    const file = { kind: 'file', url: 'https://a.example/b' } as const;
    expect(() => assertInputModes([file], ['text/plain', 'image/png'])).not.toThrow();
    expect(() => assertInputModes([file], ['text/plain', 'application/json'])).toThrow(/does not take/);
  });
});
