import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { buildCard, cardJson } from '../../../src/a2a/server/card.js';
import type { AgentProfile } from '../../../src/core/agent.js';
import type { CardFile } from '../../../src/core/card.js';

const CARD_FOLDER = new URL('../../../agent-cards/', import.meta.url);

const PROFILE: AgentProfile = {
  name: 'operator',
  description: 'Runs commands.',
  skills: [
    {
      id: 'files',
      name: 'Files',
      description: 'File operations.',
      tags: ['files'],
      examples: ['Read notes.md and tell me the last line.'],
    },
    { id: 'base', name: 'First', description: 'x', tags: [], examples: [] },
    { id: 'base', name: 'Repeated', description: 'x', tags: [], examples: [] },
  ],
};

const FILE: CardFile = {
  name: 'operator',
  description: 'Runs commands and works on files.',
  provider: { organization: 'Lango', url: 'https://lango.example' },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain', 'image/png'],
  skills: [],
};

function served(parts: Partial<Parameters<typeof buildCard>[0]> = {}): string {
  const base = {
    file: FILE,
    profile: PROFILE,
    version: '1.0.0',
    baseUrl: 'http://localhost:4100',
    auth: 'token',
  };
  return JSON.stringify(cardJson(buildCard({ ...base, ...parts } as Parameters<typeof buildCard>[0])));
}

describe('X1 a card', () => {
  it('combines the fixed parts of the file with the tools of the running agent', () => {
    const card = buildCard({
      file: FILE,
      profile: PROFILE,
      version: '9',
      baseUrl: 'http://h:1',
      auth: 'token',
    });
    expect(card).toMatchObject({
      name: 'operator',
      description: FILE.description,
      version: '9',
      provider: FILE.provider,
    });
    expect(card.defaultOutputModes).toEqual(['text/plain', 'image/png']);
    expect(card.skills.map(({ id, name }) => [id, name])).toEqual([
      ['files', 'Files'],
      ['base', 'First'],
    ]);
  });

  it('is complete without a file', () => {
    const card = JSON.parse(served({ file: undefined, profile: { ...PROFILE, skills: [] } })) as Record<
      string,
      unknown
    >;
    expect(card).toMatchObject({ description: PROFILE.description, skills: [] });
    for (const field of [
      'name',
      'version',
      'supportedInterfaces',
      'capabilities',
      'defaultInputModes',
      'defaultOutputModes',
    ]) {
      expect(card).toHaveProperty(field);
    }
  });

  it('gives the address of the server for a provider without one of its own', () => {
    const card = JSON.parse(
      served({ file: { ...FILE, provider: { organization: 'Lango' } }, baseUrl: 'https://h.example/' }),
    ) as object;
    expect(card).toMatchObject({ provider: { organization: 'Lango', url: 'https://h.example' } });
  });

  it('has a tags field on a skill without tags', () => {
    const { skills } = JSON.parse(served({ file: undefined })) as { readonly skills: readonly object[] };
    for (const skill of skills) expect(skill).toHaveProperty('tags');
  });

  it('is the same to the byte for the same parts', () => {
    expect(served()).toBe(served());
  });

  it('never shows the address a server binds to', () => {
    for (const baseUrl of ['http://0.0.0.0:4100', 'http://[::]:4100/']) {
      expect(served({ baseUrl })).not.toMatch(/0\.0\.0\.0|\[::\]/);
      expect(served({ baseUrl })).toContain('http://localhost:4100/agents/operator');
    }
  });

  it('declares the extensions, all of them optional', () => {
    const { capabilities } = buildCard({
      file: FILE,
      profile: PROFILE,
      version: '1',
      baseUrl: 'http://h',
      auth: 'none',
    });
    expect(capabilities?.extensions.map(({ uri }) => uri).sort()).toEqual([
      'urn:lango:a2a:approval:v1',
      'urn:lango:a2a:author:v1',
      'urn:lango:a2a:chain:v1',
      'urn:lango:a2a:cursor:v1',
      'urn:lango:a2a:generation:v1',
      'urn:lango:a2a:usage:v1',
    ]);
    expect(capabilities?.extensions.some(({ required }) => required)).toBe(false);
  });
});

/** Patterns that no public card may match. */
const SECRETS: readonly (readonly [string, RegExp])[] = [
  [
    'a raw tool name',
    /\b(?:exec|fs|browser|crypto|secrets|payment|search|rag|graph|memory|observe|reflect|save|create|list|import|skill)_[a-z]/,
  ],
  ['text of a prompt', /You are |NEVER invent|MUST delegate|transfer_to_agent/],
  ['a local path', /(?:^|["\s(])\/(?:home|root|work|usr|etc|tmp|var|opt|Users)\/|[A-Z]:\\\\/],
];

describe('X1 a public card', () => {
  const files = readdirSync(CARD_FOLDER).filter((name) => name.endsWith('.json'));

  it.each([...files.map((name) => [name] as const)])(
    'holds no tool name, prompt text or local path: %s',
    (name) => {
      const file = JSON.parse(readFileSync(new URL(name, CARD_FOLDER), 'utf8')) as CardFile;
      const text = served({ file, profile: { ...PROFILE, name: file.name, skills: file.skills } });
      for (const [, pattern] of SECRETS) expect(text).not.toMatch(pattern);
    },
  );

  it.each([
    ['fs_read', 'Files by fs_read.'],
    ['a prompt', 'You are the operator.'],
    ['a path', 'Works in /home/me/work.'],
  ])('is found to be unsafe by this test when it holds %s', (_what, description) => {
    const text = served({ file: { ...FILE, description } });
    expect(SECRETS.some(([, pattern]) => pattern.test(text))).toBe(true);
  });
});
