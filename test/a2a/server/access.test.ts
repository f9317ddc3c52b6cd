import { describe, expect, it } from '@jest/globals';
import { createAccess } from '../../../src/a2a/server/access.js';
import type { Agent } from '../../../src/core/agent.js';
import { LangoError } from '../../../src/core/errors.js';

const skill = { id: 'command-execution', name: 'x', description: 'x', tags: [], examples: [] };
const operator: Agent = {
  profile: { name: 'operator', description: 'x', skills: [skill] },
  run: async () => ({ state: 'completed' }),
};

type Rules = Parameters<typeof createAccess>[0]['auth']['jwt']['scopes'];

function accessWith(scopes: Rules, mode: 'jwt' | 'token' | 'none' = 'jwt') {
  return createAccess({
    auth: { mode, jwt: { issuer: 'https://issuer.example/', audience: ['here'], scopes } },
    agents: new Map([['operator', operator]]),
    tools: ['exec', 'fs_read'],
    skillOf: (tool) => (tool === 'exec' ? 'command-execution' : 'file-operations'),
  });
}

const caller = (...scopes: string[]) => ({ tenant: '', owner: 'alice', scopes: new Set(scopes) });

describe('the scopes that callers need', () => {
  it.each([
    [{ agent: 'vault', scope: 'a' }, 'This node runs no agent named vault.'],
    [
      { agent: 'operator', skill: 'cooking', scope: 'a' },
      'The agent operator has no skill cooking; its skills:',
    ],
  ])('are refused in the rule %j', (rule, text) => {
    expect(() => accessWith([rule])).toThrow(text);
    expect(() => accessWith([rule])).toThrow(LangoError);
    expect(accessWith([rule], 'token').scopeOf('operator')).toBeUndefined();
  });

  it('are those of the whole agent for a request, and those of a skill for its tools', () => {
    const access = accessWith([
      { agent: 'operator', scope: 'work' },
      { agent: 'operator', skill: 'command-execution', scope: 'run' },
    ]);
    expect(access.scopeOf('operator')).toBe('work');
    expect(access.toolsFor(caller('work'))).toEqual(['fs_read']);
    expect(access.toolsFor(caller('work', 'run'))).toBeUndefined();
    expect(access.cardAuth('operator')).toMatchObject({
      openIdConnectUrl: 'https://issuer.example/.well-known/openid-configuration',
      scopes: ['work'],
      skillScopes: new Map([['command-execution', 'run']]),
    });
  });

  it('are none where callers are not known, and such callers get no extended card', () => {
    expect(accessWith([], 'none')).toMatchObject({ identifiesCallers: false });
    expect(accessWith([], 'token')).toMatchObject({ identifiesCallers: true });
    expect(accessWith([], 'none').cardAuth('operator')).toBe('none');
  });
});
