import { describe, expect, it } from '@jest/globals';
import { agentSpecs } from '../../src/agents/agent-specs.js';
import { unownedFindings } from '../../src/agents/agent-tree.js';
import { partitionTools } from '../../src/agents/partition.js';
import type { Tool } from '../../src/core/tool.js';
import { toolNamed, tree } from '../support/agent-fixtures.js';

const named = (...names: string[]) => names.map((name) => toolNamed(name));

/** role -> names, roles without tools left out. */
function namesByRole(sets: Readonly<Record<string, readonly Tool[]>>): Record<string, string[]> {
  return Object.fromEntries(
    Object.entries(sets).flatMap(([role, tools]) =>
      tools.length === 0 ? [] : [[role, tools.map(({ name }) => name)]],
    ),
  );
}

describe('partitioning of tools', () => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['operator', ['exec_shell', 'fs_read', 'skill_deploy']],
    ['navigator', ['browser_navigate', 'browser_screenshot']],
    ['vault', ['crypto_sign', 'secrets_get', 'payment_send']],
    [
      'librarian',
      ['search_web', 'rag_query', 'graph_traverse', 'save_knowledge_item', 'create_skill_x', 'list_skills'],
    ],
    ['chronicler', ['memory_store', 'observe_event', 'reflect_summary']],
    ['librarian', ['save_knowledge_data', 'create_skill_new', 'save_learning']],
  ];
  it.each(cases)('P1 gives the %s its tools %j', (role, names) => {
    expect(namesByRole(partitionTools(named(...names), agentSpecs.standard))).toEqual({ [role]: names });
  });

  it('P2 P3 keeps unmatched tools apart, in one of seven fields', () => {
    const sets = partitionTools(named('weather', 'exec'), agentSpecs.standard);
    expect(Object.keys(sets).sort()).toEqual(
      ['chronicler', 'librarian', 'navigator', 'operator', 'planner', 'unmatched', 'vault'].sort(),
    );
    expect(namesByRole(sets)).toEqual({ operator: ['exec'], unmatched: ['weather'] });
  });

  it('P2 finds the tools that no agent owns, in one finding', () => {
    const { unmatched } = tree({ tools: named('weather', 'fs_read', 'tides') });
    expect(unownedFindings(unmatched)).toEqual([
      expect.objectContaining({ state: 'warn', text: expect.stringMatching(/weather.*tides/) }),
    ]);
    expect(unownedFindings([])).toEqual([]);
  });

  it('P4 gives the planner no tool', () => {
    const sets = partitionTools(named('plan', 'planner_do', 'exec'), agentSpecs.standard);
    expect(sets['planner']).toEqual([]);
  });

  it('P5 gives unmatched tools of the classic roster to the executor', () => {
    const names = ['exec_shell', 'fs_read', 'browser_go', 'crypto_sign', 'skill_x', 'payment_send', 'odd'];
    const sets = partitionTools(
      named(...names, 'rag_query', 'search_web', 'memory_store'),
      agentSpecs.classic,
    );
    expect(namesByRole(sets)).toEqual({
      executor: names,
      researcher: ['rag_query', 'search_web'],
      'memory-manager': ['memory_store'],
    });
  });

  it('P5 makes the classic executor describe its tools, and no memory-manager without a memory tool', () => {
    const tools = named('exec_shell', 'fs_read', 'browser_navigate');
    const { subAgents, unmatched } = tree({ roster: agentSpecs.classic, tools });
    const profiles = subAgents.map(({ profile }) => profile);
    expect(profiles.map(({ name }) => name)).toEqual(['executor', 'planner']);
    expect(profiles[0]!.description).toContain('command execution, file operations, web browsing');
    expect(unmatched).toEqual([]);
  });
});
