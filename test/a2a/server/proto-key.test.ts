import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SendMessageRequest, SendMessageResponse } from '@a2a-js/sdk';
import { LegacyA2AService } from '@a2a-js/sdk/compat/v0_3/server/grpc';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import { Client, Metadata, credentials } from '@grpc/grpc-js';
import { decodesProtoKey, encodesProtoKey } from '../../../src/a2a/server/grpc/proto-key.js';
import type { JsonObject } from '../../../src/core/json.js';
import type { A2aNode } from '../../support/a2a-node.js';
import { TOKEN, startA2aNode } from '../../support/a2a-node.js';
import { ask, rpc } from '../../support/a2a-requests.js';
import { scriptedAgent } from '../../support/scripted-agent.js';

/** A key that JavaScript gives a meaning is a key like any other in data of clients and agents. */

const DATA = JSON.parse('{"__proto__":{"a":1},"in":[{"__proto__":"x"}],"constructor":2}') as JsonObject;

describe('a key __proto__', () => {
  let node: A2aNode;
  beforeAll(async () => {
    const echo = scriptedAgent('root', async (run) => {
      const { parts, metadata = {} } = run.inputs.at(-1)!.message;
      run.emit({ type: 'artifact', artifact: { id: 'echo', parts, metadata }, append: false });
      return { state: 'completed' };
    });
    node = await startA2aNode({ agents: [echo], grpc: true });
  });
  afterAll(() => node.stop());

  const send = (id: string) => ({
    message: { messageId: id, role: 'ROLE_USER', parts: [{ data: DATA, metadata: DATA }], metadata: DATA },
  });
  const echoed = (result: JsonObject) => {
    const { artifacts, history } = result['task'] as unknown as {
      artifacts: JsonObject[];
      history: JsonObject[];
    };
    return [artifacts[0]!, history[0]!].map(({ parts, metadata }) => {
      const [part] = parts as unknown as JsonObject[];
      return JSON.stringify([part!['data'], part!['metadata'], metadata]);
    });
  };
  const whole = JSON.stringify(DATA).slice(0, -1);
  const expectWhole = (result: JsonObject) => {
    for (const text of echoed(result)) expect(text.split(whole)).toHaveLength(4);
  };

  it('arrives over JSON-RPC', async () => {
    expectWhole((await rpc(node, 'SendMessage', send('m1'))).json.result as unknown as JsonObject);
  });
  const callOverGrpc = (path: string, bytes: Buffer): Promise<Buffer> => {
    const client = new Client(node.grpc, credentials.createInsecure());
    const metadata = new Metadata();
    metadata.set('authorization', `Bearer ${TOKEN}`);
    const answered = Promise.withResolvers<Buffer>();
    const same = (given: Buffer) => given;
    client.makeUnaryRequest(path, same, same, bytes, metadata, (error, value) => {
      client.close();
      if (error) answered.reject(error);
      else answered.resolve(value!);
    });
    return answered.promise;
  };
  it('arrives over gRPC, and leaves texts and files as they are', async () => {
    const { path, requestDeserialize } = A2AService.sendMessage;
    const raw = Buffer.from('a file with __proto__');
    const { message } = send('m3');
    const more = [{ text: '__proto__' }, { raw: raw.toString('base64'), mediaType: 'text/plain' }];
    const request = SendMessageRequest.fromJSON({
      message: { ...message, parts: [...message.parts, ...more] },
    });
    const bytes = encodesProtoKey(A2AService.sendMessage.requestSerialize)(request);
    expect(requestDeserialize(bytes).message?.metadata).not.toEqual(DATA);
    const answer = await callOverGrpc(path, bytes);
    const response = decodesProtoKey(A2AService.sendMessage.responseDeserialize)(answer);
    const json = SendMessageResponse.toJSON(response) as JsonObject;
    expectWhole(json);
    const { artifacts } = json['task'] as unknown as { artifacts: { parts: JsonObject[] }[] };
    expect(artifacts[0]!.parts.slice(1)).toMatchObject(more);
  });
  it('arrives over gRPC of 0.3', async () => {
    const { path, requestSerialize, responseDeserialize } = LegacyA2AService.sendMessage;
    const content = [{ part: { $case: 'data' as const, value: { data: DATA } } }];
    const names = { messageId: 'm4', contextId: '', taskId: '', role: 1, extensions: [] };
    const request = { ...names, content, metadata: DATA };
    const sent = { request, configuration: undefined, metadata: undefined };
    const bytes = encodesProtoKey(requestSerialize)(sent);
    const response = decodesProtoKey(responseDeserialize)(await callOverGrpc(path, bytes));
    const { artifacts } = response.payload!.value as unknown as {
      artifacts: readonly { parts: readonly { part: { value: { data: object } } }[]; metadata: object }[];
    };
    const { parts, metadata } = artifacts[0]!;
    for (const held of [parts[0]!.part.value.data, metadata]) expect(JSON.stringify(held)).toContain(whole);
  });
  it('arrives over HTTP+JSON', async () => {
    expectWhole((await ask(node, '/message:send', { body: send('m2') })).json as unknown as JsonObject);
  });
});
