import { describe, expect, it } from '@jest/globals';
import { loadPrompts } from '../../src/config/prompts.js';
import { errorOf, newFolder, write } from './folder.js';

describe('loadPrompts', () => {
  it('O7 ships an identity and a tool-usage section', async () => {
    const { identity, toolUsage } = await loadPrompts({});
    expect(identity).toContain('lango-agent');
    expect(toolUsage).toContain('How you use tools');
    expect(identity).not.toContain(toolUsage);
  });

  it('uses the files that the folder has', async () => {
    const folder = newFolder();
    write(folder, 'AGENTS.md', '# My own\n');
    const shipped = await loadPrompts({});
    expect(await loadPrompts({ promptFolder: folder })).toEqual({ ...shipped, identity: '# My own' });
  });

  it('refuses a folder with neither file', async () => {
    const error = await errorOf(() => loadPrompts({ promptFolder: newFolder() }));
    expect(error.code).toBe('invalid-config');
    expect(error.hint).toContain('agent.promptFolder');
  });

  it('joins the house rules of the text and of the file, which must exist', async () => {
    const folder = newFolder();
    write(folder, 'RULES.md', 'Be brief.\n');
    const houseRulesFile = `${folder}/RULES.md`;
    expect(await loadPrompts({ houseRules: 'Write German.', houseRulesFile })).toMatchObject({
      houseRules: 'Write German.\nBe brief.',
    });
    const error = await errorOf(() => loadPrompts({ houseRulesFile: `${folder}/GONE.md` }));
    expect(error.hint).toContain('agent.houseRulesFile');
  });
});
