import { afterEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Agent } from '../../src/core/agent.js';
import { NO_USAGE } from '../../src/core/model.js';
import type { ServerOptions } from '../../src/index.js';
import { keptData } from '../support/kept-data.js';
import { outsidePage } from '../support/outside-page.js';
import type { Play } from '../support/scripted-model.js';
import { ScriptedModel, ask, call, say } from '../support/scripted-model.js';
import type { TestServer } from '../support/server.js';
import { sendText, startServer } from '../support/server.js';
import { until } from '../support/until.js';

type Settings = NonNullable<ServerOptions['settings']>;

const SETTINGS: Settings = { server: { port: 0 }, tools: { memory: { enabled: true } } };
const remember = (fact: string) => call(['memory_store', { fact }]);
const READ_AND_TELL: readonly Play[] = [call(['search_page', {}]), say('It says that tea is at five.')];

const servers: TestServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

async function start(
  scripts: Readonly<Record<string, readonly Play[]>>,
  options: ServerOptions = {},
): Promise<TestServer> {
  const settings = { ...SETTINGS, ...options.settings };
  const server = await startServer({
    tools: [outsidePage],
    model: new ScriptedModel(scripts),
    ...options,
    settings,
  });
  servers.push(server);
  return server;
}

interface KeptFact {
  readonly content: string;
  readonly provenance: { readonly fromOutside: boolean };
}

/** Each stored fact, with "outside" or "own". */
async function kept(server: TestServer): Promise<readonly string[]> {
  const facts = await keptData<KeptFact>(server, 'facts');
  return facts.map(({ content, provenance }) => `${content}: ${provenance.fromOutside ? 'outside' : 'own'}`);
}

/** Waits until notes are stored, which happens in the background. */
function noted(server: TestServer): Promise<void> {
  return until(async () => (await keptData(server, 'observations')).length > 0);
}

/** A run of an agent that only says something. */
function parrot(name: string): Agent {
  return {
    profile: { name, description: 'Says something.', skills: [] },
    async run(run) {
      run.emit({ type: 'turn-start', step: 't1' });
      run.emit({ type: 'text-delta', artifactId: 'answer', text: 'Tea is at five.', replace: true });
      const content = [{ type: 'text' as const, text: 'Tea is at five.' }];
      await run.append({ type: 'turn-end', step: 't1', content, stopReason: 'end', usage: NO_USAGE });
      return { state: 'completed' };
    },
  };
}

describe('the mark of outside text', () => {
  it('goes with the result of a sub-agent that read a page to its parent, and on to each agent that stores something', async () => {
    const server = await start({
      orchestrator: [call(ask('librarian')), call(ask('chronicler')), say('Done.')],
      librarian: READ_AND_TELL,
      chronicler: [remember('tea is at five'), say('Remembered.')],
    });
    expect((await sendText(server, 'read the page and remember it')).end.state).toBe('completed');
    expect(await kept(server)).toEqual(['tea is at five: outside']);
  });

  it('is not on a fact that a person told before anything was read', async () => {
    const server = await start({
      orchestrator: [call(ask('chronicler')), call(ask('librarian')), say('Done.')],
      librarian: READ_AND_TELL,
      chronicler: [remember('lunch is at noon'), say('Remembered.')],
    });
    await sendText(server, 'remember that lunch is at noon, then read the page');
    expect(await kept(server)).toEqual(['lunch is at noon: own']);
  });

  it('stays with the conversation for its later tasks, and not with another one', async () => {
    const server = await start({
      orchestrator: [
        call(ask('librarian', 'read', true)),
        call(ask('chronicler', 'remember', true)),
        call(ask('chronicler', 'remember', true)),
      ],
      librarian: READ_AND_TELL,
      chronicler: [remember('tea is at five'), say('Remembered.')],
    });
    const scripts = { contextId: 'read-here' };
    await sendText(server, 'read the page', scripts);
    await sendText(server, 'remember it', scripts);
    expect(await kept(server)).toEqual(['tea is at five: outside']);
    await server.stop();
    const other = await start({
      orchestrator: [call(ask('chronicler', 'remember', true))],
      chronicler: [remember('lunch is at noon'), say('Remembered.')],
    });
    await sendText(other, 'remember that lunch is at noon', { contextId: 'elsewhere' });
    expect(await kept(other)).toEqual(['lunch is at noon: own']);
  });

  it('outlives the run that read the text: a run that continues after a reply has it too', async () => {
    const server = await start(
      {
        flat: [
          call(['search_page', {}]),
          call(['ask_user', { question: 'Shall I remember it?' }]),
          remember('tea is at five'),
          say('Remembered.'),
        ],
      },
      { settings: { agent: { multiAgent: false } } },
    );
    const asked = await sendText(server, 'read the page');
    expect(asked.end.state).toBe('input-required');
    const answer = { parts: [{ kind: 'text' as const, text: 'yes' }], taskId: asked.taskId };
    for await (const event of server.client.send(answer, AbortSignal.timeout(100_000))) void event;
    expect(await kept(server)).toEqual(['tea is at five: outside']);
  });

  it('is on everything from an agent of another server, and not on the text of an agent of this one', async () => {
    const scripts = {
      orchestrator: [call(ask('parrot')), call(ask('chronicler')), say('Done.')],
      chronicler: [remember('tea is at five'), say('Remembered.')],
    };
    const here = await start(scripts, { agents: [parrot('parrot')] });
    expect((await sendText(here, 'ask the parrot and remember it')).end.state).toBe('completed');
    expect(await kept(here)).toEqual(['tea is at five: own']);

    const remote = await start({}, { agents: [parrot('bird')], settings: { auth: { mode: 'none' } } });
    const url = `${remote.address.origin}/agents/bird`;
    const there = await start(scripts, {
      settings: {
        a2a: { enabled: true, remoteAgents: [{ name: 'parrot', url, token: 'x', allowPrivate: true }] },
      },
    });
    expect((await sendText(there, 'ask the parrot and remember it')).end.state).toBe('completed');
    expect(await kept(there)).toEqual(['tea is at five: outside']);
  });

  it('goes with a request to another server, which stores nothing of it without the mark', async () => {
    const keeping = { chronicler: [remember('tea is at five'), say('Remembered.')] };
    const remote = await start(keeping, { settings: { auth: { mode: 'none' } } });
    const url = `${remote.address.origin}/agents/chronicler`;
    const here = await start(
      {
        orchestrator: [call(ask('librarian')), call(ask('diarist')), say('Done.')],
        librarian: READ_AND_TELL,
      },
      {
        settings: {
          a2a: { enabled: true, remoteAgents: [{ name: 'diarist', url, token: 'x', allowPrivate: true }] },
        },
      },
    );
    await sendText(here, 'read the page and have it remembered');
    expect(await kept(remote)).toEqual(['tea is at five: outside']);
  });

  it('comes with recalled entries: a run with a marked fact or note in its prompt stores nothing without the mark', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'lango-outside-'));
    const keep = (fact: string) => ({
      orchestrator: [call(ask('chronicler', 'remember', true))],
      chronicler: [remember(fact)].concat(say('Remembered.')),
      flat: [call(['record_lines', { lines: ['The user read about tea.'] }])],
    });
    const noting = { observationalMemory: { enabled: true, observeTokens: 1 } };
    try {
      const reads = [call(ask('librarian')), call(ask('chronicler')), say('Done.'), say('Hello.')];
      const reading = await start(
        { ...keep('tea is at five'), orchestrator: reads, librarian: READ_AND_TELL },
        { home, settings: noting },
      );
      await sendText(reading, 'read the page and remember it', { contextId: 'one' });
      await sendText(reading, 'hello', { contextId: 'one' });
      await noted(reading);
      await reading.stop();
      const later = async (fact: string, text: string, settings: Settings = {}): Promise<void> => {
        const server = await start(keep(fact), { home, settings });
        await sendText(server, text, { contextId: fact });
        facts = await kept(server);
        await server.stop();
      };
      let facts: readonly string[] = [];
      await later('lunch is at noon', 'remember that lunch is at noon');
      expect(facts).toContain('lunch is at noon: own');
      await later('supper is at seven', 'when is tea? remember that supper is at seven');
      expect(facts).toContain('supper is at seven: outside');
      await later('breakfast is at eight', 'remember that breakfast is at eight', noting);
      expect(facts).toContain('breakfast is at eight: outside');
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });
});
