import { readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { connect } from '../../src/index.js';
import type { DemoPage } from './browsing.js';
import { browse, openPage } from './browsing.js';
import type { Demo } from './conversation.js';
import { ask, check, delegations, sideBySide } from './conversation.js';
import { LangoNode } from './lango-node.js';
import { useVault } from './vault.js';

const TOKEN = 'demo-7Qf2xW9kLr4TzB6vNc8d';
const POEM = 'An old silent pond';

/** One server with all agents: real work through the orchestrator, and a check of its effects. */
export async function runOneServer(home: string, say: (line: string) => void): Promise<void> {
  const page = await openPage();
  const node = new LangoNode({
    name: 'the server',
    env: { LANGO_HOME: home, LANGO_TOKEN: TOKEN, LANGO_CONFIG: await configFile(home, page) },
    onLog: say,
  });
  try {
    const url = await node.start();
    say(`A server runs at ${url}, with the offline model and an empty folder to work in.`);
    const demo = { client: connect({ url, token: TOKEN }), say };
    await greet(demo);
    await workWithFiles(demo, path.join(home, 'workspace'));
    await runCommand(demo);
    await plan(demo);
    await workSideBySide(demo);
    await browse(demo, page);
    await useVault({ ...demo, url, token: TOKEN, home });
  } finally {
    await node.stop();
    page.close();
  }
}

async function greet(demo: Demo): Promise<void> {
  const outcome = await ask(demo, 'Hello!');
  check('a greeting is answered', outcome.end.state === 'completed' && outcome.end.text !== '');
  check('a greeting is answered without delegation', delegations(outcome).length === 0);
}

async function workWithFiles(demo: Demo, workspace: string): Promise<void> {
  const written = await ask(demo, `create a file poems/pond.txt with "${POEM}" and then read poems/pond.txt`);
  check('the operator did it', delegations(written).includes('operator'));
  check('the file is there', (await readFile(path.join(workspace, 'poems/pond.txt'), 'utf8')) === POEM);
  const found = await ask(demo, 'search for silent');
  check('the search found the file', found.end.text.includes('poems/pond.txt'));
}

async function runCommand(demo: Demo): Promise<void> {
  const outcome = await ask(demo, 'run wc -c poems/pond.txt');
  check('the command counted the bytes', outcome.end.text.includes(String(POEM.length)));
}

async function plan(demo: Demo): Promise<void> {
  const outcome = await ask(demo, 'make a plan for a small book of poems');
  check('the planner made it', delegations(outcome).includes('planner') && /1\..*\n/.test(outcome.end.text));
}

async function workSideBySide(demo: Demo): Promise<void> {
  const outcome = await ask(demo, 'list the files and at the same time make a plan for a reading evening');
  check('two agents took part', new Set(delegations(outcome)).size === 2);
  check('they worked at the same time', sideBySide(outcome));
  check(
    'the answer holds what both found',
    outcome.end.text.includes('poems') && outcome.end.text.includes('1.'),
  );
}

/** A free port, only warnings in the log, and a browser that may open the demo's own page. */
async function configFile(home: string, { host }: DemoPage): Promise<string> {
  check('the demo starts in an empty folder', (await readdir(home)).length === 0);
  const file = path.join(home, 'config.yaml');
  await writeFile(
    file,
    `server:\n  port: 0\nlogging:\n  level: warn\ntools:\n  browser:\n    allowHosts: ['${host}']\n`,
  );
  return file;
}
