import { glob, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../../src/index.js';
import { ask, check, delegations } from './conversation.js';
import { LangoNode, freePort } from './lango-node.js';

const TOKEN = 'demo-7Qf2xW9kLr4TzB6vNc8d';
const SUB_AGENTS = ['operator', 'navigator', 'vault', 'librarian', 'planner', 'chronicler'];
const DEPLOY = path.resolve(import.meta.dirname, '../../../deploy/nodes');
const CHANGE_MS = 20_000;

/**
 * The stack of docker-compose.yml as plain processes, from the same configuration files: the orchestrator finds its
 * sub-agents over the network; one goes away and comes back.
 */
export async function runStack(home: string, say: (line: string) => void): Promise<void> {
  const logs: string[] = [];
  const port = await freePort();
  const front = urlOf(port);
  const ports = await Promise.all(SUB_AGENTS.map(async (name) => [name, await freePort()] as const));
  const urls = Object.fromEntries(ports.map(([name, at]) => [`${name.toUpperCase()}_URL`, urlOf(at)]));
  const nodes = ports.map(([name, at]) => {
    const env = { ...nodeEnv(home, name, at), ...urls, ...subAgentEnv(name, front) };
    return [
      name,
      { node: new LangoNode({ name: `the ${name} node`, env, onLog: say }), url: urlOf(at) },
    ] as const;
  });
  const planner = nodes.find(([name]) => name === 'planner')![1];
  const orchestrator = new LangoNode({
    name: 'the orchestrator node',
    env: {
      ...nodeEnv(home, 'orchestrator', port),
      LANGO_TOKEN: TOKEN,
      LANGO_REFRESH_SECONDS: '1',
      LANGO_AWAY_SECONDS: '2',
      ...urls,
    },
    onLog(line) {
      logs.push(line);
      say(line);
    },
  });
  try {
    await Promise.all(nodes.map(([, { node }]) => node.start()));
    const url = await orchestrator.start();
    const addresses = nodes.map(([name, node]) => `${name} at ${node.url}`);
    say(`${nodes.length + 1} nodes run: the orchestrator at ${url}, ${addresses.join(', ')}.`);
    const demo = { client: connect({ url, token: TOKEN }), say };

    const written = await ask(demo, 'create a file note.txt with "across the network"');
    check('the operator on its own node did it', delegations(written).includes('operator'));
    // The file is in the folder of its owner: several people may ask through the orchestrator.
    const found: string[] = [];
    for await (const note of glob(path.join(home, 'operator/workspace/**/note.txt')))
      found.push(await readFile(note, 'utf8'));
    check('the file is on the operator node', found.join() === 'across the network');
    const both = await ask(demo, 'read note.txt and at the same time make a plan for a walk');
    check('both nodes took part', new Set(delegations(both)).size === 2 && both.end.text.includes('across'));

    say('\n── The planner node is stopped.');
    await planner.node.stop();
    await until(() => logs.some((line) => line.includes('agent left') && line.includes('planner')));
    const without = await ask(demo, 'make a plan for a walk');
    check('nobody delegates to a node that is gone', delegations(without).length === 0);
    const still = await ask(demo, 'read note.txt');
    check('the rest goes on', still.end.state === 'completed' && still.end.text.includes('across'));

    say('\n── The planner node is started again.');
    await planner.node.start();
    await until(
      () => logs.filter((line) => line.includes('agent joined') && line.includes('planner')).length > 1,
    );
    const again = await ask(demo, 'make a plan for a walk');
    check('it joins without a restart', delegations(again).includes('planner'));
  } finally {
    await Promise.all([orchestrator.stop(), ...nodes.map(([, { node }]) => node.stop())]);
  }
}

function subAgentEnv(name: string, front: string): Readonly<Record<string, string>> {
  return {
    LANGO_CONFIG: path.join(DEPLOY, 'sub-agent.yaml'),
    LANGO_AGENT: name,
    ORCHESTRATOR_URL: front,
  };
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}

function nodeEnv(home: string, name: string, port: number): Readonly<Record<string, string>> {
  return {
    LANGO_CONFIG: path.join(DEPLOY, 'orchestrator.yaml'),
    LANGO_HOME: path.join(home, name),
    LANGO_HOST: '127.0.0.1',
    LANGO_PORT: String(port),
    LANGO_BASE_URL: urlOf(port),
    LANGO_LOG_LEVEL: name === 'orchestrator' ? 'info' : 'warn',
  };
}

async function until(holds: () => boolean): Promise<void> {
  for (const end = Date.now() + CHANGE_MS; !holds(); await sleep(100)) {
    check('the orchestrator notices the change', Date.now() < end);
  }
}
