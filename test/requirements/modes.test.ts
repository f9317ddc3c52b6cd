import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import type { FunctionSpec } from '../../src/core/model.js';
import { defineAgent, defineTool, scriptedModel } from '../../src/index.js';
import { langoHere } from '../cli/lango-here.js';
import { toolNamed } from '../support/agent-fixtures.js';
import { ScriptedModel, ask, call, say } from '../support/scripted-model.js';
import type { TestServer } from '../support/server.js';
import { decide, sendText, withServer } from '../support/server.js';

const ROLES = ['exec_shell', 'browser_open', 'crypto_sign', 'search_web', 'memory_store'].map((name) =>
  toolNamed(name),
);
const MODEL = new ScriptedModel({});

describe('M. Modes and the agent tree', () => {
  it('M1 the root with multiAgent is lango-orchestrator, with the six sub-agents as peers', async () => {
    await withServer({ tools: ROLES, model: MODEL }, async (server) => {
      expect(server.address.root).toBe('lango-orchestrator');
      expect([...(await published(server))].sort()).toEqual(
        ['lango-orchestrator', 'operator', 'navigator', 'vault', 'librarian', 'planner', 'chronicler'].sort(),
      );
      const card = await (await server.fetch('/.well-known/agent-card.json')).json();
      expect(card).toMatchObject({ name: 'lango-orchestrator' });
    });
  });

  it('M1 the orchestrator may delegate to each of the six', async () => {
    const model = new ScriptedModel({ orchestrator: [say('hello')] });
    await withServer({ tools: ROLES, model }, async (server) => {
      await sendText(server, 'hi');
      expect(namesOffered(model.asked('orchestrator')[0]!.functions[0]!)).toEqual(
        ['operator', 'navigator', 'vault', 'librarian', 'planner', 'chronicler'].sort(),
      );
    });
  });

  it('M2 the model of the orchestrator is offered transfer_to_agent and nothing else', async () => {
    const model = new ScriptedModel({ orchestrator: [say('hello')] });
    await withServer({ tools: ROLES, model }, async (server) => {
      await sendText(server, 'hi');
      expect(model.asked('orchestrator')[0]?.functions.map(({ name }) => name)).toEqual([
        'transfer_to_agent',
      ]);
    });
  });

  it('M2 each tool is offered to the model of the one agent that owns it', async () => {
    const names = ['operator', 'navigator', 'vault', 'librarian', 'chronicler', 'planner'];
    const model = new ScriptedModel(Object.fromEntries(names.map((name) => [name, [say('done')]])));
    await withServer({ tools: ROLES, model }, async (server) => {
      for (const agent of names) await sendText(server, 'go', { agent });
      const offered = names.flatMap((agent) =>
        model.asked(agent)[0]!.functions.map(({ name }) => `${agent} ${name}`),
      );
      const owned = offered.filter((line) => ROLES.some(({ name }) => line.endsWith(` ${name}`)));
      expect(owned.sort()).toEqual([
        'chronicler memory_store',
        'librarian search_web',
        'navigator browser_open',
        'operator exec_shell',
        'vault crypto_sign',
      ]);
      expect(offered.filter((line) => line.includes('transfer_to_agent'))).toEqual([]);
    });
  });

  it('M3 one flat agent has all tools and no delegation without multiAgent', async () => {
    const model = new ScriptedModel({ flat: [say('hello')] });
    const settings = {
      server: { port: 0 },
      agent: { multiAgent: false },
      tools: { fs: { enabled: false }, exec: { enabled: false } },
    };
    await withServer({ tools: [...ROLES, toolNamed('odd_one')], model, settings }, async (server) => {
      expect(await published(server)).toEqual(['lango-agent']);
      await sendText(server, 'hi');
      const functions = model.requests[0]!.functions.map(({ name }) => name);
      expect(functions).toEqual(expect.arrayContaining([...ROLES.map(({ name }) => name), 'odd_one']));
      expect(functions).not.toContain('transfer_to_agent');
    });
  });

  it.each([
    {
      title: 'only operator and librarian tools',
      tools: ['fs_read', 'search_web'],
      agents: ['librarian', 'operator', 'planner'],
    },
    { title: 'no tools', tools: [], agents: ['planner'] },
    { title: 'only unmatched tools', tools: ['odd_one'], agents: ['planner'] },
  ])('M4 exactly the needed agents exist: $title', async ({ tools, agents }) => {
    const model = new ScriptedModel({ planner: [say('a plan')] });
    await withServer({ tools: tools.map((name) => toolNamed(name)), model }, async (server) => {
      expect([...(await published(server))].sort()).toEqual(['lango-orchestrator', ...agents].sort());
      await sendText(server, 'go', { agent: 'planner' });
      expect(model.asked('planner')[0]?.functions.map(({ name }) => name)).not.toContain('odd_one');
    });
  });

  it('M5 a roster of own specs in the settings replaces the shipped one', async () => {
    const gardener = {
      name: 'gardener',
      description: 'Looks after the garden.',
      instruction: 'You are the gardener. You water plants and report which.',
      prefixes: ['garden_'],
      alwaysInclude: false,
      takesUnmatched: true,
    };
    const model = new ScriptedModel({ gardener: [say('watered')] });
    const settings = {
      server: { port: 0 },
      agent: { roster: [gardener] },
      tools: { fs: { enabled: false }, exec: { enabled: false } },
    };
    const tools = [toolNamed('garden_water'), toolNamed('odd_one')];
    await withServer({ tools, model, settings }, async (server) => {
      expect([...(await published(server))].sort()).toEqual(['gardener', 'lango-orchestrator']);
      await sendText(server, 'go', { agent: 'gardener' });
      const functions = model.asked('gardener')[0]!.functions.map(({ name }) => name);
      expect(functions).toEqual(expect.arrayContaining(['garden_water', 'odd_one']));
    });
  });

  it('M5 an agent of defineAgent is a sub-agent with its own card and tools, and a tool without an effect class waits for a person', async () => {
    // The tool has neither effect nor danger: its work is unknown, so a person decides. Its prefix gives it to no other
    // agent.
    const tool = defineTool({
      name: 'exec_brew',
      description: 'Brews a cup.',
      schema: z.object({ sort: z.string() }),
      execute: async ({ sort }) => ({ content: `a cup of ${sort}` }),
    });
    const model = scriptedModel([
      { calls: [{ name: 'exec_brew', arguments: { sort: 'tea' } }] },
      'Tea is ready.',
    ]);
    const barista = defineAgent({
      name: 'barista',
      description: 'Brews tea and coffee.',
      instruction: 'You are the barista.',
      tools: [tool],
      model,
    });
    const root = new ScriptedModel({
      orchestrator: [call(ask('barista', 'Brew tea.', true))],
      operator: [say('nothing')],
    });
    await withServer({ agents: [barista], tools: ROLES, model: root }, async (server) => {
      expect(await published(server)).toContain('barista');
      expect(await server.client.card('barista')).toMatchObject({
        description: 'Brews tea and coffee.',
        skills: [{ id: 'barista', description: 'Brews tea and coffee.' }],
      });
      const asked = await sendText(server, 'tea please');
      expect(asked.end).toMatchObject({ state: 'input-required', questions: [{ kind: 'approval' }] });
      expect((await decide(server, asked, { decision: 'approve' })).end).toMatchObject({
        text: 'Tea is ready.',
        author: 'barista',
      });
      expect(model.requests[0]!.system[0]!.text).toMatch(/^You are the barista\./);
      await sendText(server, 'go', { agent: 'operator' });
      expect(root.asked('operator')[0]!.functions.map(({ name }) => name)).not.toContain('exec_brew');
    });
  });

  it('M5 an agent of defineAgent runs alone, with the model of the server', async () => {
    const clerk = defineAgent({ name: 'clerk', description: 'Files.', instruction: 'You are the clerk.' });
    const settings = { server: { port: 0 }, a2a: { publish: ['clerk'] } };
    const model = scriptedModel(['Filed, under "A".']);
    await withServer({ agents: [clerk], settings, model }, async (server) => {
      expect(server.address).toMatchObject({ agents: ['clerk'], root: 'clerk' });
      expect((await sendText(server, 'file it')).end).toMatchObject({
        state: 'completed',
        text: 'Filed, under "A".',
      });
      expect((await sendText(server, 'again')).end).toMatchObject({ state: 'failed' });
    });
  });

  it('M5 defineAgent and createServer refuse what cannot be described to a model', () => {
    const agent = { name: 'clerk', description: 'Files.', instruction: 'You are the clerk.' };
    const tool = { description: 'Files.', schema: z.object({}), execute: async () => ({ content: '' }) };
    expect(() => defineAgent({ ...agent, name: 'The Clerk' })).toThrow(
      'An agent cannot be named "The Clerk".',
    );
    expect(() => defineAgent({ ...agent, name: 'lango-agent' })).toThrow('root agent');
    expect(() => defineAgent({ ...agent, instruction: ' ' })).toThrow(
      'The agent clerk has an empty instruction.',
    );
    const tools = [defineTool({ ...tool, name: 'file it' })];
    expect(() => defineAgent({ ...agent, tools })).toThrow('A tool cannot be named "file it".');
  });

  it('M5 own agents extend a shipped roster, match tools first, and replace agents of their names', async () => {
    const own = (name: string, prefixes: string[], alwaysInclude = false) => ({
      name,
      description: `Is the ${name} of this house.`,
      instruction: `You are the ${name}. You are not as shipped.`,
      prefixes,
      alwaysInclude,
    });
    const ownAgents = [own('gardener', ['fs_plant']), own('host', [], true), own('vault', ['crypto_'])];
    const model = new ScriptedModel({
      orchestrator: [say('hi')],
      ...Object.fromEntries(['gardener', 'host', 'vault', 'operator'].map((name) => [name, [say('done')]])),
    });
    const settings = { server: { port: 0 }, agent: { ownAgents } };
    const tools = ['fs_plant', 'fs_read', 'crypto_sign', 'secrets_get'].map((name) => toolNamed(name));
    await withServer({ tools, model, settings }, async (server) => {
      const named = [...(await published(server))].sort();
      expect(named).toEqual(['gardener', 'host', 'lango-orchestrator', 'operator', 'planner', 'vault']);
      for (const agent of ['gardener', 'host', 'vault', 'operator']) await sendText(server, 'go', { agent });
      const offered = (agent: string) =>
        model.asked(agent)[0]!.functions.flatMap(({ name }) => (/_/.test(name) ? [name] : []));
      expect(offered('gardener')).toContain('fs_plant');
      expect(offered('operator')).not.toContain('fs_plant');
      expect(offered('vault')).toContain('crypto_sign');
      expect(offered('vault')).not.toContain('secrets_get');
      expect(model.asked('vault')[0]!.system[0]!.text).toContain('not as shipped');
      await sendText(server, 'hi');
      const instruction = JSON.stringify(model.asked('orchestrator')[0]!.system);
      for (const { description } of ownAgents) expect(instruction).toContain(description);
    });
  });
});

describe('P. Which agent owns a tool', () => {
  it('P1 the owner of each tool runs it, and no other agent is offered it', async () => {
    const owners = {
      operator: ['exec_shell', 'fs_read', 'skill_deploy'],
      navigator: ['browser_navigate', 'browser_screenshot'],
      vault: ['crypto_sign', 'secrets_get', 'payment_send'],
      librarian: [
        'search_web',
        'rag_query',
        'graph_traverse',
        'save_knowledge_item',
        'create_skill_x',
        'list_skills',
      ],
      chronicler: ['memory_store', 'observe_event', 'reflect_summary'],
    };
    const tools = Object.values(owners)
      .flat()
      .reverse()
      .map((name) => toolNamed(name));
    const model = new ScriptedModel(
      Object.fromEntries(Object.keys(owners).map((name) => [name, [say('ok')]])),
    );
    await withServer({ tools, model }, async (server) => {
      for (const [agent, names] of Object.entries(owners)) {
        await sendText(server, 'go', { agent });
        const offered = model.asked(agent)[0]!.functions.map(({ name }) => name);
        expect(offered.filter((name) => tools.some((tool) => tool.name === name)).sort()).toEqual(
          [...names].sort(),
        );
      }
    });
  });

  it('P2 P3 each tool has one place: one of the six roles, or unmatched, which a warning at the start reports', async () => {
    const roles = ['operator', 'navigator', 'vault', 'librarian', 'planner', 'chronicler'];
    const model = new ScriptedModel(Object.fromEntries(roles.map((name) => [name, [say('ok')]])));
    await withServer({ tools: [...ROLES, toolNamed('odd_one')], model }, async (server) => {
      const dead = server.log.lines.filter((line) => line.includes('no agent owns the tool'));
      expect(dead).toEqual([expect.stringMatching(/"warn".*odd_one/)]);
      for (const agent of roles) await sendText(server, 'go', { agent });
      const offered = model.requests.flatMap(({ functions }) => functions.map(({ name }) => name));
      for (const { name } of ROLES) expect(offered.filter((one) => one === name)).toHaveLength(1);
      expect(offered).not.toContain('odd_one');
    });
  });

  it('P2 one warning names all tools that no agent owns', async () => {
    const odd = Array.from({ length: 12 }, (_, index) => toolNamed(`odd_${index}`));
    await withServer({ tools: odd, model: new ScriptedModel({}) }, async (server) => {
      const dead = server.log.lines.filter((line) => line.includes('no agent owns the tools'));
      expect(dead).toEqual([expect.stringMatching(/odd_0, odd_1, .*odd_11/)]);
      const env = { LANGO_URL: server.address.origin, LANGO_TOKEN: server.address.token! };
      const { stdout } = await langoHere(['doctor'], { env });
      expect(stdout.match(/^warn .*no agent owns the tools .*$/gm)).toHaveLength(1);
    });
  });

  it('M4 M5 an own agent without prefixes has a model only, and one whose prefixes match nothing is named at the start', async () => {
    const spec = { description: 'Writes.', instruction: 'You are the writer. Write.' };
    const settings = {
      server: { port: 0 },
      agent: {
        ownAgents: [
          { name: 'writer', prefixes: [], ...spec },
          { name: 'reader', prefixes: ['read_'], ...spec },
        ],
      },
    };
    const model = new ScriptedModel({ writer: [say('a poem')] });
    await withServer({ model, settings }, async (server) => {
      expect((await sendText(server, 'write', { agent: 'writer' })).end.text).toBe('a poem');
      const [direct] = model.asked('writer');
      expect(direct!.system[0]!.text).toContain('The request comes from the user.');
      expect(direct!.system.map(({ text }) => text).join()).not.toContain('orchestrator');
      const left = server.log.lines.filter((line) => line.includes('is left out'));
      expect(left).toEqual([expect.stringMatching(/"warn".*the agent reader is left out.*\(read_\)/)]);
    });
  });

  it('M3 a server of one agent names at its start, in one line each, the lists of agents that it does not use', async () => {
    const own = { name: 'writer', description: 'Writes.', instruction: 'Write.', prefixes: [] };
    const settings = {
      server: { port: 0 },
      agent: { multiAgent: false, ownAgents: [own, { ...own, name: 'reader' }] },
      a2a: { enabled: true, remoteAgents: [{ name: 'far', url: 'https://far.example' }] },
    };
    await withServer({ model: new ScriptedModel({}), settings }, async (server) => {
      const unused = server.log.lines.filter((line) => line.includes('is not used'));
      expect(unused).toEqual([
        expect.stringMatching(/"warn".*agent\.ownAgents is not used with agent\.multiAgent: false/),
        expect.stringMatching(/"warn".*a2a\.remoteAgents is not used with agent\.multiAgent: false/),
      ]);
    });
  });

  it('P4 the planner owns no tool', async () => {
    const model = new ScriptedModel({ planner: [say('a plan')] });
    await withServer({ tools: ROLES, model }, async (server) => {
      await sendText(server, 'go', { agent: 'planner' });
      const offered = model.asked('planner')[0]!.functions.map(({ name }) => name);
      expect(offered.filter((name) => ROLES.some((tool) => tool.name === name))).toEqual([]);
    });
  });

  it('P5 the classic roster has four roles with fixed terms, and gives unmatched tools to the executor', async () => {
    const settings = {
      server: { port: 0 },
      agent: { roster: 'classic' as const },
      tools: { fs: { enabled: false }, exec: { enabled: false } },
    };
    const model = new ScriptedModel({
      orchestrator: [call(ask('executor', 'go', true))],
      executor: [say('done')],
    });
    const tools = ['exec_shell', 'fs_read', 'browser_navigate', 'odd_one', 'search_x'].map((name) =>
      toolNamed(name),
    );
    await withServer({ tools, model, settings }, async (server) => {
      expect([...(await published(server))].sort()).toEqual([
        'executor',
        'lango-orchestrator',
        'planner',
        'researcher',
      ]);
      await sendText(server, 'go');
      const instruction = model
        .asked('orchestrator')[0]!
        .system.map(({ text }) => text)
        .join('\n');
      expect(instruction).toContain('command execution, file operations, web browsing');
      expect(instruction).not.toContain('memory-manager');
      expect(model.asked('executor')[0]!.functions.map(({ name }) => name)).toContain('odd_one');
    });
  });
});

describe('P5 the classic roster', () => {
  const OWNED = {
    executor: ['exec_x', 'fs_x', 'browser_x', 'crypto_x', 'skill_x', 'payment_x', 'odd_one'],
    researcher: ['search_x', 'rag_x', 'graph_x', 'save_knowledge_x', 'save_learning_x'],
    'memory-manager': ['memory_x', 'observe_x', 'reflect_x'],
    planner: [],
  };
  const TOOLS = Object.values(OWNED).flat();

  it('P5 C2 O3 R1 gives each agent its own tools, in terms for the orchestrator, with instructions that follow the rules', async () => {
    const model = new ScriptedModel({
      orchestrator: [say('hi')],
      ...Object.fromEntries(Object.keys(OWNED).map((name) => [name, [say('done')]])),
    });
    const settings = { server: { port: 0 }, agent: { roster: 'classic' as const } };
    await withServer({ tools: TOOLS.map((name) => toolNamed(name)), model, settings }, async (server) => {
      for (const [agent, names] of Object.entries(OWNED)) {
        await sendText(server, 'go', { agent });
        const [{ functions, system }] = model.asked(agent) as [(typeof model.requests)[number]];
        const offered = functions.map(({ name }) => name).filter((name) => TOOLS.includes(name));
        expect(offered).toEqual(names);
        for (const part of ['You are the ', 'Does:', 'Input:', 'Output:', 'Constraints:', 'Report:'])
          expect(system[0]!.text).toContain(part);
      }
      await sendText(server, 'hi');
      const text = model.asked('orchestrator')[0]!.system[0]!.text;
      const entries = [...text.matchAll(/^- ([a-z-]+)$/gm)].map(([, name]) => name!);
      expect(entries.sort()).toEqual(Object.keys(OWNED).sort());
      for (const name of TOOLS) expect(text).not.toContain(name);
    });
  });
});

function namesOffered({ parameters }: FunctionSpec): readonly string[] {
  const properties = parameters['properties'] as { agent_name: { enum: string[] } };
  return [...properties.agent_name.enum].sort();
}

async function published(server: TestServer): Promise<readonly string[]> {
  return (await server.client.catalog()).map(({ name }) => name);
}
