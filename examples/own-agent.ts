/**
 * An agent of your own, published with its own card and endpoint. Run it: `npx node dist/examples/own-agent.js`
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Agent } from 'lango';
import { connect, createServer, textOf, textPart } from 'lango';

const dice: Agent = {
  profile: {
    name: 'dice',
    description: 'Rolls dice.',
    skills: [
      {
        id: 'roll',
        name: 'roll dice',
        description: 'Rolls dice.',
        tags: ['dice'],
        examples: ['roll {count} dice'],
      },
    ],
  },
  async run(run) {
    const words = textOf(run.inputs[0]!.message.parts);
    const count = Number(/\d+/.exec(words)?.[0] ?? 1);
    const rolls = Array.from({ length: count }, () => 1 + Math.floor(Math.random() * 6));
    run.emit({
      type: 'text-delta',
      artifactId: 'answer',
      text: `You rolled ${rolls.join(', ')}.`,
      replace: true,
    });
    return { state: 'completed' };
  },
};

const home = await mkdtemp(path.join(tmpdir(), 'lango-example-'));
const server = createServer({ home, settings: { server: { port: 0 } }, agents: [dice] });
const { origin, token } = await server.start();
try {
  const client = connect({ url: origin, ...(token ? { token } : {}) });
  // The orchestrator knows the new agent by its card. The offline model asks it because the request names it.
  for await (const event of client.send(
    { parts: [textPart('ask dice to roll 3 dice')] },
    new AbortController().signal,
  )) {
    if (event.type === 'activity' && event.activity.type === 'delegation-start') {
      console.log(`${event.author} asks ${event.activity.agent}`);
    }
    if (event.type === 'end') console.log(event.text);
  }
} finally {
  await server.stop();
  await rm(home, { recursive: true });
}
