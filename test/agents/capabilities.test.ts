import { describe, expect, it } from '@jest/globals';
import { capabilityDescription, capabilityMap, cardSkills, skillsOf } from '../../src/agents/capabilities.js';
import { agentSpecs } from '../../src/agents/agent-specs.js';
import { STANDARD_ROSTER } from '../../src/agents/agent-specs.js';
import type { Skill } from '../../src/core/agent.js';
import { toolNamed, tree } from '../support/agent-fixtures.js';

const named = (...names: string[]) => names.map((name) => toolNamed(name));

describe('a capability description', () => {
  it('C1 lists its terms in order of first appearance, without repeats, by the longest prefix', () => {
    expect(capabilityDescription(named('fs_read', 'exec_shell', 'fs_write'))).toBe(
      'file operations, command execution',
    );
    expect(capabilityDescription(named('search_web', 'search_knowledge'))).toBe(
      'web search, information search',
    );
  });

  it('C2 uses the fixed terms', () => {
    expect(capabilityMap).toMatchObject({
      exec: 'command execution',
      fs_: 'file operations',
      browser_: 'web browsing',
      crypto_: 'cryptography',
      secrets_: 'secret management',
      payment_: 'blockchain payments (USDC on Base)',
    });
    expect(capabilityDescription(named('crypto_sign', 'secrets_get', 'payment_send'))).toBe(
      'cryptography, secret management, blockchain payments (USDC on Base)',
    );
    expect(capabilityDescription(named('exec_shell', 'exec_run'))).toBe('command execution');
  });

  it('C2 has a term for every prefix of both rosters', () => {
    const prefixes = [...STANDARD_ROSTER, ...agentSpecs.classic].flatMap((spec) => spec.prefixes);
    expect(prefixes.filter((prefix) => !(prefix in capabilityMap))).toEqual([]);
  });

  it('C3 falls back to "general actions"', () => {
    expect(capabilityDescription(named('weather'))).toBe('general actions');
  });

  it('C2 holds terms and no tool name for the operator and the vault', () => {
    const names = ['exec_shell', 'fs_read', 'crypto_sign', 'secrets_get', 'payment_send'];
    const profiles = tree({ tools: named(...names) }).subAgents.map(({ profile }) => profile);
    const of = (name: string) => profiles.find((profile) => profile.name === name)!.description;
    expect(of('operator')).toContain('command execution, file operations');
    expect(of('vault')).toContain('cryptography, secret management, blockchain payments (USDC on Base)');
    for (const name of names) expect(JSON.stringify(profiles)).not.toContain(name);
  });

  it('becomes one generated skill per capability, without a tool name', () => {
    expect(skillsOf(named('fs_read', 'fs_list', 'payment_send'))).toEqual([
      {
        id: 'file-operations',
        name: 'File operations',
        description: 'Handles requests for file operations.',
        tags: ['file', 'operations'],
        examples: [],
      },
      {
        id: 'blockchain-payments-usdc-on-base',
        name: 'Blockchain payments (USDC on Base)',
        description: 'Handles requests for blockchain payments (USDC on Base).',
        tags: ['blockchain', 'payments', 'usdc', 'on', 'base'],
        examples: [],
      },
    ]);
  });
});

describe('the skills of a card', () => {
  const skill = (id: string, description: string): Skill => ({
    ...{ id, name: id, description },
    ...{ tags: [id], examples: [] },
  });
  const own = [
    skill('planning', 'Plans.'),
    skill('file-operations', 'Reads files.'),
    skill('cryptography', 'Signs.'),
  ];

  it('leave out a reviewed skill whose tools are off, and keep one that needs no tool', () => {
    const skills = cardSkills(skillsOf(named('fs_read')), own, []);
    expect(skills.map(({ description }) => description)).toEqual(['Plans.', 'Reads files.']);
  });

  it('use the text of another card file, and generated text only where there is none', () => {
    const reviewed = [skill('file-operations', 'Elsewhere.'), skill('web-browsing', 'Opens pages.')];
    const skills = cardSkills(skillsOf(named('fs_read', 'browser_open', 'odd_one')), own, reviewed);
    expect(skills.map(({ description }) => description)).toEqual([
      ...['Plans.', 'Reads files.', 'Opens pages.'],
      'Handles requests for general actions.',
    ]);
  });
});
