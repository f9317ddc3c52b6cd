// A Strands agent behind its own A2A server. Prints the server's address.
import { Agent, Model } from '@strands-agents/sdk';
import { A2AExpressServer } from '@strands-agents/sdk/a2a/express';

class Scripted extends Model {
  getConfig() {
    return { modelId: 'scripted' };
  }
  updateConfig() {}
  async *stream(messages) {
    const asked = messages
      .at(-1)
      .content.map((block) => block.text ?? '')
      .join('');
    yield { type: 'modelMessageStartEvent', role: 'assistant' };
    yield { type: 'modelContentBlockStartEvent' };
    for (const text of ['Strands did ', asked, '.']) {
      yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'textDelta', text } };
    }
    yield { type: 'modelContentBlockStopEvent' };
    yield { type: 'modelMessageStopEvent', stopReason: 'endTurn' };
  }
}

const server = new A2AExpressServer({
  name: 'Strands',
  description: process.argv[2] ?? 'Does what it is told.',
  agentFactory: () => new Agent({ model: new Scripted(), printer: false }),
  port: 0,
});
await server.serve();
console.log(JSON.stringify({ url: `http://127.0.0.1:${server.port}` }));
