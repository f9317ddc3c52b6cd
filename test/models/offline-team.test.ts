import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Agent } from '../../src/core/agent.js';
import type { ModelProvider } from '../../src/core/model.js';
import { createOfflineProvider } from '../../src/models/offline/provider.js';
import { createFsTools } from '../../src/tools/fs/index.js';
import { tree } from '../support/agent-fixtures.js';
import { MemoryPeers } from '../support/memory-peers.js';
import { MemoryRun } from '../support/memory-run.js';

const PLANNING = { id: 'plan', name: 'Planning', description: '', tags: [], examples: ['plan {goal}'] };

/** The real agents with the real file tools, all of them on the offline model. */
describe('a team of agents on the offline model', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'lango-offline-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  async function ask(text: string) {
    const offline = createOfflineProvider();
    let modelCalls = 0;
    const model: ModelProvider = {
      id: offline.id,
      stream(request) {
        modelCalls += 1;
        return offline.stream(request);
      },
    };
    const tools = createFsTools({ roots: [root], maxReadBytes: 10_000 });
    const { subAgents } = tree({ tools, model });
    const peers = new MemoryPeers(subAgents.map(withCardSkills));
    const orchestrator = tree({ tools, model, peers }).root!;
    const run = MemoryRun.of(orchestrator.profile.name, text);
    const end = await run.perform(orchestrator);
    return {
      end,
      modelCalls,
      answer: run.answer() ?? '',
      asked: peers.requests.map(({ agent }) => agent),
    };
  }

  it('D6 answers a greeting with one model call', async () => {
    const { modelCalls, answer, asked } = await ask('Hello!');
    expect({ modelCalls, asked }).toEqual({ modelCalls: 1, asked: [] });
    expect(answer).toMatch(/^Hello!/);
  });

  it('D6 does a request of one agent with one call of the orchestrator', async () => {
    const { modelCalls, asked } = await ask('write hello world to notes.txt and then read notes.txt');
    expect(readFileSync(join(root, 'notes.txt'), 'utf8')).toBe('hello world');
    expect({ modelCalls, asked }).toEqual({ modelCalls: 1 + 3, asked: ['operator'] });
  });

  it('D3 has two agents work at once and puts their answers together', async () => {
    const { asked, answer } = await ask('write x to a.txt and at the same time plan a party');
    expect(asked.toSorted()).toEqual(['operator', 'planner']);
    expect(answer).toContain('operator on "write x to a.txt"');
    expect(answer).toContain('Plan: a party');
  });

  it('hands the work of one agent to the next', async () => {
    await ask('plan a party and then write the plan to party.md');
    expect(readFileSync(join(root, 'party.md'), 'utf8')).toMatch(/^Plan: a party\n\n1\. /);
  });

  it('asks for what is missing', async () => {
    const { end } = await ask('write hello to');
    expect(end).toMatchObject({ state: 'input-required', text: expect.stringContaining('the path') });
    expect(existsSync(join(root, 'hello'))).toBe(false);
  });
});

/** What a published card adds to an agent's own skills. */
function withCardSkills(agent: Agent): Agent {
  if (agent.profile.name !== 'planner') return agent;
  const profile = { ...agent.profile, skills: [PLANNING] };
  return { profile, run: (run) => agent.run(run) };
}
