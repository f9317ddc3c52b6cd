import { describe, expect, it } from '@jest/globals';
import { readEnv } from '../../src/config/env.js';
import { checkConfig, resolveConfig } from '../../src/config/load.js';
import type { ModelChoice } from '../../src/config/models.js';
import { newFolder, write } from './folder.js';

describe('the model', () => {
  it('of a package gets no key of another vendor, nor of another package', () => {
    const { config, secrets } = resolveConfig({
      env: readEnv({ ANTHROPIC_API_KEY: 'a', OPENAI_API_KEY: 'o' }),
      settings: {
        model: {
          ...{ provider: 'ai-sdk', package: '@ai-sdk/google', name: 'g', apiKey: 'k' },
          ...{ options: { project: 'p' }, secretOptions: { token: 't' } },
          fallbacks: [
            'g-small',
            { package: '@ai-sdk/mistral', name: 'm' },
            { name: 'g-own', apiKey: 'k2' },
            { provider: 'anthropic' },
          ],
        },
      },
    });
    const words = ({ package: name, key, options }: ModelChoice) => [
      ...[name, secrets.modelKeys.get(key), options, secrets.modelOptions.get(key)],
    ];
    expect([config.model, ...config.model.fallbacks].map(words)).toEqual([
      ['@ai-sdk/google', 'k', { project: 'p' }, { token: 't' }],
      ['@ai-sdk/google', 'k', { project: 'p' }, { token: 't' }],
      ['@ai-sdk/mistral', undefined, undefined, undefined],
      ['@ai-sdk/google', 'k2', { project: 'p' }, undefined],
      [undefined, 'a', undefined, undefined],
    ]);
    const alone = resolveConfig({
      env: readEnv({ ANTHROPIC_API_KEY: 'a', OPENAI_API_KEY: 'o' }),
      settings: { model: { provider: 'ai-sdk', package: '@ai-sdk/google', name: 'g' } },
    });
    expect([...alone.secrets.modelKeys]).toEqual([]);
  });

  it('of a package is refused without its package or name, or with thinking', async () => {
    const text = [
      'model:',
      '  provider: ai-sdk',
      '  thinking: off',
      '  fallbacks:',
      '    - { package: "@ai-sdk/mistral" }',
      '    - { provider: openai, name: gpt-6.1-sol, package: "@ai-sdk/openai", apiKey: k }',
    ].join('\n');
    expect(await check(text)).toEqual([
      [2, expect.stringContaining('needs a package')],
      [2, expect.stringContaining('needs the name of a model')],
      [3, expect.stringContaining('providerOptions')],
      [5, expect.stringContaining('needs the name of a model')],
      [6, 'must be ai-sdk for the package @ai-sdk/openai'],
    ]);
  });
});

/** The line and text of each problem. */
async function check(text: string): Promise<readonly [number, string][]> {
  const home = newFolder();
  write(home, 'config.yaml', text);
  const problems = await checkConfig({ env: readEnv({ LANGO_HOME: home }) });
  return problems.map((problem) => [Number(problem.at.split(':').at(-2)), problem.text]);
}
