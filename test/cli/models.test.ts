import { describe, expect, it } from '@jest/globals';
import { langoHere } from './lango-here.js';
import { makeHome } from './lango-process.js';

const CONFIG = `
model: { provider: anthropic, name: claude-haiku-5-5, apiKey: k, fallbacks: [claude-mythos-5-2] }
agent:
  models:
    planner: claude-haiku-5-5
    chronicler: { provider: openai, name: qwen3, baseUrl: "http://127.0.0.1:9/v1", windowTokens: 32768 }
prices: { qwen3: { input: 0, output: 0 } }
`;

describe('lango models', () => {
  it('shows each model of the configuration once, with its price and window, and names the unpriced ones', async () => {
    const home = await makeHome(CONFIG);
    const words = await langoHere(['models'], home);
    const json = await langoHere(['models', '--json'], home);
    await home.remove();
    expect(JSON.parse(json.stdout)).toEqual({
      currency: 'USD',
      pricesRead: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      models: [
        {
          keys: ['model', 'agent.models.planner'],
          model: 'anthropic/claude-haiku-5-5',
          price: expect.objectContaining({ input: 0.1, output: 0.5 }),
          windowTokens: 1_000_000,
        },
        {
          keys: ['model.fallbacks[0]'],
          model: 'anthropic/claude-mythos-5-2',
          price: null,
          windowTokens: null,
        },
        {
          keys: ['agent.models.chronicler'],
          model: 'openai/qwen3',
          price: { input: 0, output: 0 },
          windowTokens: 32_768,
        },
      ],
      unpriced: ['anthropic/claude-mythos-5-2'],
    });
    expect(words.stdout).toMatch(/claude-haiku-5-5 +0\.1 in, 0\.5 out USD +1,000,000 tokens/);
    expect(words.stdout + words.stderr).toMatch(/claude-mythos-5-2 has no price.*prices\.claude-mythos-5-2/);
  });

  it('lists with --known what this version knows, without a configuration', async () => {
    const home = await makeHome('');
    const { stdout } = await langoHere(['models', '--known', '--json'], home);
    await home.remove();
    const { models, unpriced } = JSON.parse(stdout) as {
      models: { model: string; price: object | null }[];
      unpriced: string[];
    };
    const names = models.map(({ model }) => model);
    expect(names).toEqual(expect.arrayContaining(['claude-haiku-5-5', 'claude-fable-5-2', 'gpt-6.1-sol']));
    expect(unpriced).toEqual(['claude-mythos-5-2']);
  });
});
