import { describe, expect, it } from '@jest/globals';
import { loadPrompts } from '../../src/config/prompts.js';
import { errorOf, newFolder, write } from './folder.js';

describe('loadPrompts', () => {
  it('O7 ships an identity and a tool-usage section', async () => {
    const { identity, toolUsage } = await loadPrompts(undefined);
    expect(identity).toContain('lango-agent');
    expect(toolUsage).toContain('How you use tools');
    expect(identity).not.toContain(toolUsage);
  });

  it('takes from the folder what it has', async () => {
    const folder = newFolder();
    write(folder, 'AGENTS.md', '# My own\n');
    const shipped = await loadPrompts(undefined);
    expect(await loadPrompts(folder)).toEqual({ identity: '# My own', toolUsage: shipped.toolUsage });
  });

  it('refuses a folder with neither file', async () => {
    const error = await errorOf(() => loadPrompts(newFolder()));
    expect(error.code).toBe('invalid-config');
    expect(error.hint).toContain('agent.promptFolder');
  });
});
