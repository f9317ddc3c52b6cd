import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { toolNamed } from '../support/agent-fixtures.js';
import { freePort } from '../support/free-port.js';
import { Obedient } from '../support/obedient-model.js';
import { sendText, withServer } from '../support/server.js';
import { recordRecipe } from './cell.js';
import { FOLDER, PEERS } from './framework.js';

/** The recipes of docs/guides/agents-of-other-frameworks.md, run as they stand there, with scripted models. */

interface Recipe {
  /** The heading of its section. */
  readonly name: string;
  /** Its environment in `.ci/frameworks`, and its package there. */
  readonly folder: string;
  readonly package: string;
  /** The program in `peers/recipes` that stands for the reader's own agent and model. */
  readonly own: string;
  /** What its agent answers to "say hello". */
  readonly answer: string;
  /** Starts its own server in place of a program. */
  readonly serve?: readonly string[];
  /** Where its server has the agent. */
  readonly at?: string;
}

const RECIPES: readonly Recipe[] = [
  {
    name: 'Google ADK',
    folder: 'adk-python',
    package: 'google-adk',
    own: 'adk',
    answer: 'ADK did: say hello',
  },
  {
    name: 'Strands',
    folder: 'strands-python',
    package: 'strands-agents',
    own: 'strands',
    answer: 'Strands did: say hello',
  },
  {
    name: 'Pydantic AI',
    folder: 'pydantic-ai',
    package: 'fasta2a',
    own: 'pydantic',
    answer: 'Pydantic did: say hello',
  },
  {
    name: 'Microsoft Agent Framework',
    folder: 'agent-framework',
    package: 'agent-framework-a2a',
    own: 'msft',
    answer: 'Microsoft did: say hello',
  },
  { name: 'CrewAI', folder: 'crewai', package: 'crewai', own: 'crewai', answer: 'CrewAI did: say hello' },
  {
    name: 'LangGraph',
    folder: 'langgraph',
    package: 'langgraph-api',
    own: 'langgraph',
    answer: 'LangGraph did: say hello',
    serve: ['langgraph', 'dev', '--no-browser', '--no-reload', '--port'],
    at: '/a2a/fe096781-5601-53d2-b2f6-0d3403f7e9ca',
  },
];

const page = readFileSync('docs/guides/agents-of-other-frameworks.md', 'utf8');
const pinned = readFileSync('.ci/frameworks', 'utf8');

describe.each(RECIPES)('$name', (recipe) => {
  const environment = path.join(FOLDER ?? '', recipe.folder);
  if (!existsSync(path.join(environment, 'installed'))) {
    console.warn(
      `SKIPPED: ${recipe.name} is not installed: .ci/frameworks FOLDER all, LANGO_TEST_FRAMEWORKS=FOLDER`,
    );
    it.skip('is not installed', () => undefined);
    return;
  }
  const [section = ''] = page.split(`\n## ${recipe.name}\n`)[1]!.split('\n## ');
  const programs = [...section.matchAll(/```python\n([^]*?)\n```/g)].map(([, code]) => code!);
  const version = new RegExp(`${recipe.package}(?:\\[[^\\]]*\\])?==([\\w.]+)`).exec(pinned)?.[1] ?? '';
  let folder: string;

  beforeEach(async () => {
    await mkdir(path.join(environment, 'runs'), { recursive: true });
    folder = await mkdtemp(path.join(environment, 'runs', 'run-'));
    await copyFile(path.join(PEERS, 'recipes', `${recipe.own}.py`), path.join(folder, 'my_agent.py'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const start = (command: string, args: readonly string[], env: object = {}) =>
    spawn(path.join(environment, 'bin', command), args, {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, OTEL_SDK_DISABLED: 'true', CREWAI_DISABLE_TELEMETRY: 'true', ...env },
    });

  it('its agent is a sub-agent of Lango', async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}${recipe.at ?? ''}`;
    const [json] = /(?<=```json\n).*(?=\n)/.exec(section) ?? ['{}'];
    await writeFile(path.join(folder, 'langgraph.json'), json);
    await writeFile(path.join(folder, 'served.py'), programs[0]!.replaceAll('8001', String(port)));
    const [command, ...args] = recipe.serve ? [...recipe.serve, String(port)] : ['python', 'served.py'];
    const served = start(command, args);
    const complaints = text(served.stderr);
    served.stdout.resume();
    const closed = once(served, 'close');
    try {
      while (!(await isThere(`${url}/.well-known/agent-card.json`))) {
        if (served.exitCode !== null) throw new Error(`the program ended: ${await complaints}`);
        await delay(200);
      }
      const a2a = { enabled: true, remoteAgents: [{ name: 'clerk', url, allowPrivate: true }] };
      await withServer({ model: new Obedient(), settings: { server: { port: 0 }, a2a } }, async (server) => {
        await server.log.saying('"agent joined","agent":"clerk"');
        const order = { agent_name: 'clerk', request: 'say hello' };
        const { end } = await sendText(server, `transfer_to_agent ${JSON.stringify(order)}`);
        expect(end).toMatchObject({ state: 'completed', text: expect.stringContaining(recipe.answer) });
      });
    } finally {
      served.kill('SIGKILL');
      await closed;
    }
    recordRecipe(recipe.name, version, 'as a sub-agent of Lango');
  }, 90_000);

  it("Lango's operator is a sub-agent of its agents", async () => {
    const written: string[] = [];
    const tool = toolNamed('exec_write', {
      execute: async (file) => {
        written.push(file);
        return { content: `${file} is written` };
      },
    });
    await withServer({ model: new Obedient(), tools: [tool] }, async ({ address }) => {
      const code = programs.at(-1)!.replaceAll('http://127.0.0.1:4100', address.origin);
      await writeFile(path.join(folder, 'used.py'), code);
      const run = start('python', ['my_agent.py', 'exec_write {"path":"one"}'], {
        LANGO_TOKEN: address.token,
      });
      const [said, complaints] = await Promise.all([text(run.stdout), text(run.stderr), once(run, 'close')]);
      const line = said.split('\n').find((one) => one.startsWith('{"answer"'));
      if (!line) throw new Error(`no answer: ${said} ${complaints}`);
      expect((JSON.parse(line) as { answer: string }).answer).toContain('one is written');
      expect(written).toEqual(['one']);
    });
    recordRecipe(recipe.name, version, 'with Lango as its sub-agent');
  }, 90_000);
});

function isThere(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}
