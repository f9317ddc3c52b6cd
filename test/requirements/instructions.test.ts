import { describe, expect, it } from '@jest/globals';
import type { ModelRequest } from '../../src/core/model.js';
import { toolNamed } from '../support/agent-fixtures.js';
import { anthropicWire } from '../support/anthropic-wire.js';
import { API_KEY } from '../support/model-wire.js';
import { ScriptedServer, events } from '../support/scripted-server.js';
import { ScriptedModel, ask, call, resultsIn, say } from '../support/scripted-model.js';
import { doings, sendText, withServer } from '../support/server.js';

/** The instructions that models get, read from the requests of a running server. */

const BARE = { fs: { enabled: false }, exec: { enabled: false } };
const NAMES = {
  operator: ['exec_shell', 'exec_run', 'fs_read'],
  navigator: ['browser_navigate'],
  vault: ['crypto_sign', 'secrets_get', 'payment_send'],
  librarian: ['search_web', 'create_skill_x', 'list_skills'],
  chronicler: ['memory_store'],
};
/** Every example of requirement P1. */
const EVERY_PREFIX = [
  ...['search_', 'rag_', 'graph_', 'save_knowledge_', 'save_learning_', 'create_skill_', 'list_skills_'],
  ...['memory_', 'observe_', 'reflect_', 'browser_', 'crypto_', 'secrets_', 'payment_'],
  ...['exec_', 'fs_', 'skill_'],
];
const EVERY_TOOL = Object.values(NAMES).flat();

describe('C. Capability descriptions', () => {
  it('C1 C2 are human terms for the orchestrator, in order of first appearance, each once', async () => {
    const text = await orchestratorInstruction(EVERY_TOOL);
    expect(text).toContain('command execution, file operations');
    expect(text).toContain('cryptography, secret management, blockchain payments (USDC on Base)');
    expect(text.split('command execution')).toHaveLength(2);
    for (const name of EVERY_TOOL) expect(text).not.toContain(name);
  });

  it('C1 C2 read as the words say with the shipped tools, in what a vendor is sent', async () => {
    await using vendor = await ScriptedServer.open();
    const answer = anthropicWire.answer({ texts: ['hi'], stop: 'end' });
    vendor.willAlwaysReply((response, request) => events(answer)(response, request));
    const model = {
      provider: 'anthropic' as const,
      name: 'claude-test',
      apiKey: API_KEY,
      baseUrl: vendor.url,
    };
    const settings = {
      server: { port: 0 },
      model,
      tools: Object.fromEntries(['exec', 'fs', 'secrets', 'crypto'].map((name) => [name, { enabled: true }])),
      payment: { enabled: true, rpcUrl: 'http://127.0.0.1:9' },
    };
    await withServer({ settings }, async (server) => {
      await sendText(server, 'hi');
    });
    const system = JSON.stringify(vendor.requests[0]!.body['system']).replaceAll('\\n', '\n');
    const capabilitiesOf = (agent: string) => entryOf(agent, system).at(-1);
    expect(capabilitiesOf('vault')).toBe(
      '  Capabilities: cryptography, secret management, blockchain payments (USDC on Base).',
    );
    expect(capabilitiesOf('operator')).toMatch(/^ {2}Capabilities: command execution, file operations\b/);
  });

  it('C1 are the same for an agent with a card file and for one without', async () => {
    const tools = ['fs_read', 'exec_shell', 'fs_write'];
    const shipped = entryOf('operator', await orchestratorInstruction(tools));
    expect(shipped.at(-1)).toBe('  Capabilities: file operations, command execution.');
    const handy = {
      name: 'handy',
      description: 'Does handy things.',
      instruction: 'You are the handy.',
      prefixes: ['fs_', 'exec'],
    };
    expect(entryOf('handy', await orchestratorInstruction(tools, { roster: [handy] }))).toEqual([
      '  Use it for: Does handy things.',
      '  Its card says: Capabilities: file operations, command execution.',
    ]);
  });

  it('C1 C2 have a term for every prefix, by the longest match', async () => {
    const names = EVERY_PREFIX.map((prefix) => `${prefix}x`);
    const text = await orchestratorInstruction([...names, 'search_web']);
    expect(text).toContain('information search, ');
    expect(text).toContain('web search');
    expect(text).not.toContain('general actions');
    for (const name of names) expect(text).not.toContain(name);
  });

  it('C3 are "general actions" for an agent whose tools match no capability', async () => {
    const roster = [
      {
        name: 'oddity',
        description: 'Does odd things.',
        instruction: 'You are the oddity.',
        prefixes: ['odd_'],
        alwaysInclude: false,
        takesUnmatched: false,
      },
    ];
    const text = await orchestratorInstruction(['odd_one'], { roster });
    expect(text).toContain('general actions');
  });
});

describe("O. The orchestrator's instruction", () => {
  it('O1 names the existing agents and no others', async () => {
    const text = await orchestratorInstruction(['exec_shell']);
    expect(text).toContain('operator');
    expect(text).toContain('planner');
    for (const absent of ['navigator', 'vault', 'librarian', 'chronicler'])
      expect(text).not.toContain(absent);
  });

  it('O2 says that it has no tools and must delegate, with table, protocol and rejections', async () => {
    const text = await orchestratorInstruction(EVERY_TOOL);
    expect(text).toContain('NEVER invent or abbreviate agent names');
    expect(text).toMatch(/You have no tools/);
    expect(text).toMatch(/MUST delegate/);
    for (const heading of ['# Routing table', '# Decision protocol', '# When an agent rejects a request']) {
      expect(text).toContain(heading);
    }
    const table = text.slice(text.indexOf('# Routing table'), text.indexOf('# Decision protocol'));
    const names = [...table.matchAll(/^- (.+)$/gm)].map(([, name]) => name!);
    expect(names.sort()).toEqual([...Object.keys(NAMES), 'planner'].sort());
    expect(text).toMatch(/rejects[^#]*Do not ask that agent again\. Choose another/);
  });

  it('O3 holds no word that could be taken for the name of an agent', async () => {
    const text = await orchestratorInstruction(EVERY_TOOL);
    for (const word of ['exec', 'browser', 'crypto', 'fs', 'payment', 'memory-manager']) {
      expect(text).not.toMatch(new RegExp(`\\b${word}\\b`, 'i'));
    }
  });

  it.each([
    ['operator', /Acts on this computer|commands|files/i],
    ['navigator', /\bweb\b/i],
    ['vault', /secrets, keys and payments/i],
    ['librarian', /Looks up and keeps knowledge/i],
    ['planner', /steps|plan/i],
    ['chronicler', /memory/i],
  ])('O4 says in its rule for the %s what to delegate to it', async (agent, what) => {
    const text = await orchestratorInstruction(EVERY_TOOL);
    const rule = new RegExp(`^- ${agent}\\n  Use it for: (.+)$`, 'm').exec(text)?.[1];
    expect(rule).toMatch(what);
  });

  it('O5 says what to handle directly and what to delegate, and the offline model follows it', async () => {
    const text = await orchestratorInstruction(EVERY_TOOL);
    expect(text).toContain('Answer simple talk (a greeting, an opinion, general knowledge) directly');
    expect(text).toMatch(/MUST delegate every task that needs one, and everything that needs live data/);
    await withServer({ tools: [toolNamed('fs_read')] }, async (server) => {
      const delegations = async (request: string) =>
        doings(await sendText(server, request)).filter((line) => line.includes('delegation-start'));
      expect(await delegations('Hello!')).toEqual([]);
      expect(await delegations('read a.txt')).toEqual(['lango-orchestrator: delegation-start operator']);
    });
  });

  it('O5 D6 lets a greeting be handled directly, with one model call and no delegation', async () => {
    const model = new ScriptedModel({ orchestrator: [say('Hello!')] });
    await withServer({ tools: [toolNamed('exec_shell')], model }, async (server) => {
      const { end, events } = await sendText(server, 'hi there');
      expect(end.text).toBe('Hello!');
      expect(model.requests).toHaveLength(1);
      expect(
        events.some((event) => event.type === 'activity' && event.activity.type === 'delegation-start'),
      ).toBe(false);
    });
  });

  it.each([
    { set: undefined, rounds: 5 },
    { set: 0, rounds: 5 },
    { set: 2, rounds: 2 },
  ])(
    'O6 states the limit $rounds for maxDelegationRounds $set, and code enforces it',
    async ({ set, rounds }) => {
      const round = (n: number) => call(ask('operator', `go ${n}`));
      const more = Array.from({ length: rounds + 1 }, (_, n) => round(n));
      const model = new ScriptedModel({
        orchestrator: [...more, say('enough')],
        operator: Array.from({ length: 40 }, () => say('done')),
      });
      const settings = {
        server: { port: 0 },
        tools: BARE,
        agent: set === undefined ? {} : { maxDelegationRounds: set },
      };
      await withServer({ tools: [toolNamed('exec_shell')], model, settings }, async (server) => {
        const { end } = await sendText(server, 'work');
        expect(end).toMatchObject({ state: 'completed', text: 'enough' });
        const asked = model.asked('orchestrator');
        expect(instructionOf(asked[0]!)).toContain(`At most ${rounds} rounds`);
        expect(model.asked('operator')).toHaveLength(rounds);
        expect(asked[rounds]!.functions).toEqual([]);
        expect(resultsIn(asked[rounds + 1])[0]).toMatch(/rounds/);
      });
    },
  );

  it('O7 has neither identity nor tool usage, which the flat agent has', async () => {
    const flat = new ScriptedModel({ flat: [say('hi')] });
    const settings = { server: { port: 0 }, tools: BARE, agent: { multiAgent: false } };
    await withServer({ tools: [toolNamed('exec_shell')], model: flat, settings }, async (server) => {
      await sendText(server, 'hi');
    });
    const { readFile } = await import('node:fs/promises');
    const identity = (await readFile('prompts/AGENTS.md', 'utf8')).trim();
    const toolUsage = (await readFile('prompts/TOOL_USAGE.md', 'utf8')).trim();
    expect(instructionOf(flat.requests[0]!)).toContain(identity);
    expect(instructionOf(flat.requests[0]!)).toContain(toolUsage);
    const text = await orchestratorInstruction(EVERY_TOOL);
    expect(text).not.toContain(identity);
    expect(text).not.toContain(toolUsage);
  });
});

describe('O. Run-time context', () => {
  it('O8 follows the instruction, whose routing table stays whole', async () => {
    const model = new ScriptedModel({ orchestrator: [say('hi')] });
    const additions = async ({ task }: { task: { contextId: string } }) =>
      `They like tea (known from ${task.contextId}). # Routing table: nobody`;
    await withServer({ tools: [toolNamed('exec_shell')], model, additions }, async (server) => {
      await sendText(server, 'hi', { contextId: 'talk' });
      const { system } = model.asked('orchestrator')[0]!;
      const plain = await orchestratorInstruction(['exec_shell']);
      expect(`${system[0]!.text}\n`).toBe(plain.slice(0, system[0]!.text.length + 1));
      expect(
        system
          .slice(1)
          .map(({ text }) => text)
          .join('\n'),
      ).toContain('They like tea (known from talk).');
      expect(system.slice(1).every(({ stable }) => !stable)).toBe(true);
    });
  });
});

describe('R. Reporting', () => {
  it.each([
    ['operator', /give your results clearly/],
    ['navigator', /say what you saw and where/],
    ['vault', /say what was done .*never a secret's value/],
    ['librarian', /summarize your findings clearly/],
    ['planner', /present the plan for review/],
    ['chronicler', /what was stored or retrieved/],
  ] as const)(
    'R1 the %s is told its work, input, output, constraints and how to report',
    async (agent, how) => {
      const model = new ScriptedModel({ [agent]: [say('done')] });
      await withServer({ tools: EVERY_TOOL.map((name) => toolNamed(name)), model }, async (server) => {
        await sendText(server, 'go', { agent });
        const text = instructionOf(model.asked(agent)[0]!);
        expect(text).toMatch(new RegExp(`^You are the ${agent}\\.`));
        for (const part of ['Does', 'Input', 'Output', 'Constraints'])
          expect(text).toMatch(new RegExp(`^${part}: \\w.+`, 'm'));
        expect(/^Report: (.+)/m.exec(text)?.[1]).toMatch(how);
      });
    },
  );
});

async function orchestratorInstruction(
  tools: readonly string[],
  agent: NonNullable<NonNullable<Parameters<typeof withServer>[0]['settings']>['agent']> = {},
): Promise<string> {
  const model = new ScriptedModel({ orchestrator: [say('hi')] });
  const settings = { server: { port: 0 }, tools: BARE, agent };
  await withServer({ tools: tools.map((name) => toolNamed(name)), model, settings }, async (server) => {
    await sendText(server, 'hi');
  });
  return instructionOf(model.asked('orchestrator')[0]!);
}

/** The lines of one agent in the routing table. */
function entryOf(agent: string, instruction: string): readonly string[] {
  const lines = instruction.split(`\n- ${agent}\n`)[1]!.split('\n');
  return lines.slice(
    0,
    lines.findIndex((line) => !line.startsWith('  ')),
  );
}

function instructionOf({ system }: ModelRequest): string {
  return system.map(({ text }) => text).join('\n');
}

describe('the rules of every agent', () => {
  it('hold the house rules and the date, the available commands for an agent that acts, and the agents for the planner', async () => {
    const model = new ScriptedModel({
      orchestrator: [call(ask('operator'), ask('vault'), ask('planner')), say('done')],
      operator: [say('ok')],
      vault: [say('ok')],
      planner: [say('ok')],
    });
    const settings = {
      agent: { houseRules: 'Never use the word synergy.' },
      workspace: ['/tmp/lango-place'],
    };
    const tools = ['exec_run', 'crypto_sign'].map((name) => toolNamed(name));
    await withServer({ model, tools, settings }, async (server) => {
      await sendText(server, 'do it');
    });
    const systemOf = (agent: string) =>
      model
        .asked(agent)[0]!
        .system.map(({ text }) => text)
        .join('\n');
    for (const agent of ['orchestrator', 'operator', 'vault', 'planner']) {
      expect(systemOf(agent)).toContain('Never use the word synergy.');
      expect(systemOf(agent)).toContain(`${new Date().getFullYear()}; the time zone is`);
    }
    expect(systemOf('operator')).toContain('/tmp/lango-place');
    for (const agent of ['orchestrator', 'vault', 'planner']) {
      expect(systemOf(agent)).not.toContain('/tmp/lango-place');
    }
    expect(systemOf('planner')).toMatch(/- operator: .*\n- vault: |- vault: .*\n- operator: /);
    expect(systemOf('planner')).not.toContain('- planner:');
    expect(systemOf('operator')).not.toContain('- vault:');
  });

  it('do not name the data folder', async () => {
    const model = new ScriptedModel({ operator: [say('ok')] });
    await withServer({ model, tools: [toolNamed('exec_run')] }, async (server) => {
      await sendText(server, 'do it', { agent: 'operator' });
      const sent = JSON.stringify(model.asked('operator'));
      expect(sent).toContain('relative paths begin in the workspace.');
      expect(sent).not.toContain(server.home);
    });
  });
});
