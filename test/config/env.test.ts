import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { readEnv } from '../../src/config/env.js';

describe('readEnv', () => {
  it('treats an empty variable as not set', () => {
    expect(readEnv({ LANGO_HOME: '', LANGO_TOKEN: '', NO_COLOR: '', FORCE_COLOR: '' })).toMatchObject({
      home: join(homedir(), '.lango'),
      token: undefined,
      noColor: false,
      forceColor: false,
    });
  });

  it('reads each variable under its name', () => {
    const variables = {
      LANGO_HOME: '/h',
      LANGO_CONFIG: '/c',
      LANGO_TOKEN: 't',
      ANTHROPIC_API_KEY: 'a',
      OPENAI_API_KEY: 'o',
      LANGO_LOG_LEVEL: 'warn',
      LANGO_URL: 'http://u',
      NO_COLOR: '1',
      FORCE_COLOR: '1',
    };
    expect(readEnv(variables)).toEqual({
      home: '/h',
      configFile: '/c',
      token: 't',
      anthropicApiKey: 'a',
      openaiApiKey: 'o',
      logLevel: 'warn',
      url: 'http://u',
      noColor: true,
      forceColor: true,
      isStartedByNpm: false,
      variables,
    });
  });
});
