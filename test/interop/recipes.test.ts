import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { toolNamed } from '../support/agent-fixtures.js';
import { freePort } from '../support/free-port.js';
import { Obedient } from '../support/obedient-model.js';
import type { TestServer } from '../support/server.js';
import { beginTask, sendText, startServer, untilEnded } from '../support/server.js';
import { record } from './cell.js';
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
  /** What does not work by a fault of the framework, by operation. Its test must fail. */
  readonly faults?: Readonly<Partial<Record<RecipeRole, Readonly<Record<string, string>>>>>;
}

type RecipeRole = 'as a sub-agent of Lango' | 'with Lango as its sub-agent';

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
    faults: {
      'as a sub-agent of Lango': {
        cancel:
          'Its worker does one task at a time, and `AgentWorker.cancel_task` does nothing: the next request waits until the ' +
          'canceled task has run to its end.',
      },
    },
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

  beforeAll(async () => {
    await mkdir(path.join(environment, 'runs'), { recursive: true });
    folder = await mkdtemp(path.join(environment, 'runs', 'run-'));
    await copyFile(path.join(PEERS, 'recipes', `${recipe.own}.py`), path.join(folder, 'my_agent.py'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const start = (command: string, args: readonly string[], env: object = {}) =>
    spawn(path.join(environment, 'bin', command), args, {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, OTEL_SDK_DISABLED: 'true', CREWAI_DISABLE_TELEMETRY: 'true', ...env },
    });
  /** A test of one cell of the page. */
  const test = (role: RecipeRole, operation: string, run: () => Promise<void>): void => {
    const row = { peer: recipe.name, peerVersion: version, role, operation };
    const why = recipe.faults?.[role]?.[operation];
    const cell = why === undefined ? it : it.failing;
    cell(
      operation,
      async () => {
        if (why !== undefined) record({ ...row, why });
        await run();
        if (why === undefined) record({ ...row, works: true });
      },
      60_000,
    );
  };

  describe('as a sub-agent of Lango', () => {
    let served: ReturnType<typeof start>;
    let server: TestServer;
    beforeAll(async () => {
      const port = await freePort();
      const url = `http://127.0.0.1:${port}${recipe.at ?? ''}`;
      const [json] = /(?<=```json\n).*(?=\n)/.exec(section) ?? ['{}'];
      await writeFile(path.join(folder, 'langgraph.json'), json);
      await writeFile(path.join(folder, 'served.py'), programs[0]!.replaceAll('8001', String(port)));
      const [command, ...args] = recipe.serve ? [...recipe.serve, String(port)] : ['python', 'served.py'];
      served = start(command, args);
      const complaints = text(served.stderr);
      served.stdout.resume();
      while (!(await isThere(`${url}/.well-known/agent-card.json`))) {
        if (served.exitCode !== null) throw new Error(`the program ended: ${await complaints}`);
        await delay(200);
      }
      const a2a = { enabled: true, remoteAgents: [{ name: 'clerk', url, allowPrivate: true }] };
      server = await startServer({ model: new Obedient(), settings: { server: { port: 0 }, a2a } });
      await server.log.saying('"agent joined","agent":"clerk"');
    }, 90_000);
    afterAll(async () => {
      await server?.stop();
      const closed = once(served, 'close');
      served.kill('SIGKILL');
      await closed;
    });
    const order = (request: string): string =>
      `transfer_to_agent ${JSON.stringify({ agent_name: 'clerk', request })}`;

    test('as a sub-agent of Lango', 'send', async () => {
      const { end } = await sendText(server, order('say hello'));
      expect(end).toMatchObject({ state: 'completed', text: expect.stringContaining(recipe.answer) });
    });
    test('as a sub-agent of Lango', 'two at once', async () => {
      const asked = ['say one', 'say two'].map((request) => sendText(server, order(request)));
      const ends = (await Promise.all(asked)).map(({ end }) => end.text);
      expect(ends.map((said) => /say (one|two)/.exec(said)?.[1])).toEqual(['one', 'two']);
    });
    test('as a sub-agent of Lango', 'errors', async () => {
      const { end } = await sendText(server, order('fail'));
      expect(end.state).toBe('completed');
      expect(end.text).toMatch(/fail|error|away/i);
      expect(end.text).not.toContain('did: fail');
    });
    test('as a sub-agent of Lango', 'cancel', async () => {
      const taskId = await beginTask(server, order('wait'));
      await delay(500);
      await server.client.cancel({ taskId });
      expect((await untilEnded(server, taskId)).state).toBe('canceled');
      const { end } = await sendText(server, order('say hello'));
      expect(end.text).toContain(recipe.answer);
    });
  });

  describe('with Lango as its sub-agent', () => {
    const written: string[] = [];
    let server: TestServer;
    beforeAll(async () => {
      const write = async (file: string) => {
        if (file === 'full') throw new Error('the disk is full');
        written.push(file);
        return { content: `${file} is written` };
      };
      const tools = [
        toolNamed('exec_write', { execute: write }),
        toolNamed('exec_wipe', { execute: write, effect: 'unsafe', danger: () => 'dangerous' }),
      ];
      server = await startServer({ model: new Obedient(), tools });
      const code = programs.at(-1)!.replaceAll('http://127.0.0.1:4100', server.address.origin);
      await writeFile(path.join(folder, 'used.py'), code);
    });
    afterAll(() => server.stop());

    /** What the agent of the framework answers, or how its program fails. */
    async function ask(
      words: string,
      token = server.address.token,
    ): Promise<{ answer?: string; said: string }> {
      const run = start('python', ['my_agent.py', words], { LANGO_TOKEN: token });
      const [out, complaints] = await Promise.all([text(run.stdout), text(run.stderr), once(run, 'close')]);
      const line = out.split('\n').find((one) => one.startsWith('{"answer"'));
      const answer = line && (JSON.parse(line) as { answer: string }).answer;
      return { ...(answer === undefined ? {} : { answer }), said: `${out}${complaints}` };
    }

    test('with Lango as its sub-agent', 'send', async () => {
      const { answer, said } = await ask('exec_write {"path":"one"}');
      if (answer === undefined) throw new Error(`no answer: ${said}`);
      expect(answer).toContain('one is written');
      expect(written).toEqual(['one']);
    });
    test('with Lango as its sub-agent', 'errors', async () => {
      expect((await ask('exec_write {"path":"full"}')).answer).toContain('the disk is full');
    });
    test('with Lango as its sub-agent', 'ask', async () => {
      const { answer } = await ask('exec_wipe {"path":"two"}');
      expect(answer).toMatch(/approve \w{4}/);
      expect(written).not.toContain('two');
    });
    test('with Lango as its sub-agent', 'auth', async () => {
      const { said } = await ask('exec_write {"path":"three"}', 'wrong');
      expect(written).not.toContain('three');
      expect(said).toMatch(/401|unauthorized|unauthenticated|token|fail|error/i);
    });
  });
});

function isThere(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}
