import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { agentSpecs } from '../../src/agents/agent-specs.js';
import { capabilityMap, skillIdOf } from '../../src/agents/capabilities.js';
import { loadCardFiles } from '../../src/config/cards.js';
import { packageRoot } from '../../src/config/package-root.js';
import { errorOf, newFolder, write } from './folder.js';

const SHIPPED = join(packageRoot(), 'agent-cards');
const ROOTS = ['lango-agent', 'lango-orchestrator'];
const SUB_AGENTS = [
  ...['chronicler', 'librarian', 'navigator', 'operator', 'planner', 'vault'],
  ...['executor', 'memory-manager', 'researcher'],
];
const TOOL_NAME =
  /\b(exec|fs|skill|browser|crypto|secrets|payment|search|rag|graph|save|create|list|memory|observe|reflect|transfer)_\w*/i;

describe('the shipped agent cards', () => {
  it('X1 are there for every agent of both rosters and both roots', async () => {
    const cards = await loadCardFiles(SHIPPED);
    expect([...cards.keys()].sort()).toEqual([...ROOTS, ...SUB_AGENTS].sort());
  });

  it('list for each agent the skills of all its tools, and others only where no tool is needed', async () => {
    const cards = await loadCardFiles(SHIPPED);
    const withoutTools = ['assistance', 'conversation', 'orchestration', 'planning'];
    const all = Object.keys(capabilityMap);
    const byAgent = [
      ...Object.values(agentSpecs)
        .flat()
        .map(({ name, prefixes }) => ({ name, prefixes })),
      ...[
        { name: 'lango-orchestrator', prefixes: [] },
        { name: 'lango-agent', prefixes: all },
      ],
    ];
    for (const { name, prefixes } of byAgent) {
      const ids = cards.get(name)!.skills.map(({ id }) => id);
      const further = name === 'librarian' ? ['search_web'] : [];
      const needed = [...prefixes, ...further].map(skillIdOf);
      expect(ids).toEqual(expect.arrayContaining(needed));
      expect(all.map(skillIdOf).concat(withoutTools)).toEqual(expect.arrayContaining(ids));
      if (prefixes.length === 0) expect(withoutTools).toEqual(expect.arrayContaining(ids));
    }
  });

  it('have the same text for a skill everywhere, with two to four example sentences of a person', async () => {
    const cards = await loadCardFiles(SHIPPED);
    const skills = [...cards.values()].flatMap((card) => card.skills);
    for (const skill of skills) {
      expect(skill).toEqual(skills.find(({ id }) => id === skill.id));
      expect(skill.examples.length).toBeGreaterThanOrEqual(2);
      expect(skill.examples.length).toBeLessThanOrEqual(4);
      for (const example of skill.examples) expect(example).toMatch(/^[A-Z][^{}]* [^{}]*[.?]$/);
    }
  });

  it('contain nothing private: no tool name, no path, no prompt', () => {
    for (const name of [...ROOTS, ...SUB_AGENTS]) {
      const text = readFileSync(join(SHIPPED, `${name}.json`), 'utf8').replaceAll(
        /"(text|application|image)\/\w+"/g,
        '',
      );
      expect(text).not.toMatch(TOOL_NAME);
      expect(text).not.toMatch(/[\\/~]\w|\.\w+\/|\bexec\b/);
      expect(text).not.toMatch(/you are|you must|never invent|instruction|prompt/i);
    }
  });
});

describe('loadCardFiles', () => {
  const card = {
    name: 'clerk',
    description: 'Keeps files.',
    provider: { organization: 'Office', url: 'https://office.example' },
    iconUrl: 'https://office.example/icon.png',
    documentationUrl: 'https://office.example/clerk',
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain', 'image/*'],
    skills: [
      { id: 'filing', name: 'Filing', description: 'Files.', tags: ['files'], examples: ['file {it}'] },
    ],
  };

  it('reads each .json file and nothing else', async () => {
    const folder = newFolder();
    write(folder, 'clerk.json', JSON.stringify(card));
    write(folder, 'README.md', 'not a card');
    expect(await loadCardFiles(folder)).toEqual(new Map([['clerk', card]]));
  });

  it('reports what is wrong in all files, with line and column', async () => {
    const folder = newFolder();
    const wrong = {
      ...card,
      descriptoin: 'x',
      iconUrl: 'file:///icon',
      skills: [{ ...card.skills[0], tags: [] }],
    };
    const one = write(folder, 'clerk.json', JSON.stringify(wrong, null, 2));
    const two = write(folder, 'other.json', JSON.stringify(card, null, 2));
    const three = write(folder, 'third.json', '{\n  "name": third }');
    const four = write(folder, 'twice.json', '{\n  "name": "a",\n  "name": "b"\n}');
    const { code, message } = await errorOf(() => loadCardFiles(folder));
    expect(code).toBe('invalid-config');
    expect(message).toContain(`${one}:8:14: iconUrl must be an http:// or https:// address`);
    expect(message).toContain(`${one}:22:15: skills[0].tags must be at least 1 entry long`);
    expect(message).toContain(`${one}:28:3: descriptoin is not a known key; did you mean "description"?`);
    expect(message).toContain(`${two}:2:11: name must be "other", the name of its file`);
    expect(message).toContain(`${three}:2:11: `);
    expect(message).toContain(`${four}:3:3: name appears twice; keep one of them`);
  });

  it('reports a missing folder', async () => {
    expect(await errorOf(() => loadCardFiles(join(newFolder(), 'none')))).toMatchObject({
      code: 'invalid-config',
    });
  });
});
