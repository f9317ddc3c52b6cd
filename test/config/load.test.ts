import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { agentLimits } from '../../src/config/config.js';
import { readEnv } from '../../src/config/env.js';
import { checkConfig, loadConfig, resolveConfig } from '../../src/config/load.js';
import type { ModelChoice } from '../../src/config/models.js';
import { DEFAULT_LIMITS } from '../support/agent-fixtures.js';
import { errorOf, newFolder, write } from './folder.js';

describe('loadConfig', () => {
  it('works with no file at all', async () => {
    const home = newFolder();
    const { config, secrets } = await loadConfig({ env: readEnv({ LANGO_HOME: home }) });
    expect(config).toMatchObject({
      home,
      file: undefined,
      agent: { multiAgent: true, roster: 'standard', maxDelegationRounds: 5 },
      model: { provider: 'offline' },
      server: { host: '127.0.0.1', port: 4100 },
      auth: { mode: 'token' },
      storage: { sqlite: { file: join(home, 'lango.db') } },
      workspace: [join(home, 'workspace')],
    });
    expect(agentLimits(config)).toEqual(DEFAULT_LIMITS);
    expect(secrets).toEqual({
      inAddresses: [],
      token: undefined,
      modelKeys: new Map(),
      modelOptions: new Map(),
      remotes: new Map(),
      otlpHeaders: {},
      marked: [],
    });
  });

  it('reads config.yaml of the home, or the file that LANGO_CONFIG or the flag names', async () => {
    const home = newFolder();
    const other = newFolder();
    write(home, 'config.yaml', 'server: { port: 1 }');
    const named = write(other, 'a.yaml', 'server: { port: 2 }');
    const flagged = write(other, 'b.yaml', 'server: { port: 3 }');
    const variables = { LANGO_HOME: home };
    const portOf = async (env: Record<string, string>, configFile?: string) =>
      (await loadConfig({ env: readEnv(env), overrides: { configFile } })).config.server.port;
    expect(await portOf(variables)).toBe(1);
    expect(await portOf({ ...variables, LANGO_CONFIG: named })).toBe(2);
    expect(await portOf({ ...variables, LANGO_CONFIG: named }, flagged)).toBe(3);
  });

  it('reports a named file that is missing, is a folder or is no group of keys', async () => {
    const home = newFolder();
    const env = readEnv({ LANGO_HOME: home });
    const missing = join(home, 'none.yaml');
    const load = (configFile: string) => errorOf(() => loadConfig({ env, overrides: { configFile } }));
    expect(await load(missing)).toMatchObject({ code: 'invalid-config' });
    expect((await load(missing)).message).toContain(`${missing}: there is no such file`);
    expect((await load(home)).message).toContain('cannot be read');
    expect((await load(write(home, 'list.yaml', '- 1'))).message).toContain(':1:1: must be a group of keys');
  });

  it('gives flags precedence over variables, and variables over the file', async () => {
    const home = newFolder();
    write(home, 'config.yaml', 'server: { host: 127.0.0.2, port: 5000 }\nlogging: { level: warn }');
    const env = readEnv({ LANGO_HOME: home, LANGO_LOG_LEVEL: 'debug' });
    const { config } = await loadConfig({ env, overrides: { port: 0 } });
    expect(config.server).toMatchObject({ host: '127.0.0.2', port: 0 });
    expect(config.logging.level).toBe('debug');
  });

  it('reads the home from the flag before LANGO_HOME', async () => {
    const home = newFolder();
    const env = readEnv({ LANGO_HOME: '/elsewhere' });
    expect((await loadConfig({ env, overrides: { home } })).config.home).toBe(home);
  });

  it('resolves a relative path against the file, and keeps :memory: unchanged', async () => {
    const folder = newFolder();
    write(folder, 'own.yaml', 'workspace: [work, /srv/work]\nstorage: { sqlite: { file: ":memory:" } }');
    const env = readEnv({ LANGO_HOME: '/h', LANGO_CONFIG: join(folder, 'own.yaml') });
    const { config } = await loadConfig({ env });
    expect(config.workspace).toEqual([join(folder, 'work'), '/srv/work']);
    expect(config.storage.sqlite.file).toBe(':memory:');
  });

  it('resolves every relative path against the file, also in lists', async () => {
    const folder = newFolder();
    const auth = 'auth: { mtls: { certFile: client.pem, keyFile: client.key } }';
    const peer = `{ name: far, url: "https://far.example", verify: { keys: far.json }, ${auth} }`;
    const lines = [`a2a: { remoteAgents: [${peer}] }`, 'tools: { browser: { executable: bin/chromium } }'];
    write(
      folder,
      'own.yaml',
      [...lines, 'server: { tls: { certFile: c.pem, keyFile: ~/k.pem } }'].join('\n'),
    );
    const env = readEnv({ LANGO_HOME: '/h', LANGO_CONFIG: join(folder, 'own.yaml') });
    const { config, settings } = await loadConfig({ env });
    expect(config.a2a.remoteAgents[0]?.verify?.keys).toBe(join(folder, 'far.json'));
    expect(config.a2a.remoteAgents[0]?.auth?.mtls).toEqual({
      certFile: join(folder, 'client.pem'),
      keyFile: join(folder, 'client.key'),
    });
    expect(settings.tools).toHaveProperty('browser.executable', join(folder, 'bin/chromium'));
    expect(config.server.tls).toMatchObject({
      certFile: join(folder, 'c.pem'),
      keyFile: join(homedir(), 'k.pem'),
    });
    expect(settings.tools).toHaveProperty('skills.folders', ['/h/skills']);
  });

  it('replaces 0 delegation rounds and an empty group by the default', async () => {
    const home = newFolder();
    write(home, 'config.yaml', 'agent:\n  maxDelegationRounds: 0\nserver:\nmodel:\n  name:\n');
    const { config } = await loadConfig({ env: readEnv({ LANGO_HOME: home }) });
    expect(agentLimits(config).delegationRounds).toBe(5);
    expect(config.server.port).toBe(4100);
  });
});

describe('the check of a file', () => {
  it('reports all problems at once, with line and column, in the order of the file', async () => {
    const home = newFolder();
    const file = write(
      home,
      'config.yaml',
      [
        'server:',
        '  prot: 1',
        '  limits: { jsonDepth: deep }',
        'auth: { mode: none }',
        'a2a:',
        '  remoteAgents:',
        '    - name: Far Away',
        '    - { name: near, url: "https://user:secret@near.example" }',
        'approval: { policy: sometimes }',
        'storage: 7',
      ].join('\n'),
    );
    const env = readEnv({ LANGO_HOME: home, LANGO_LOG_LEVEL: 'loud' });
    const error = await errorOf(() => loadConfig({ env, overrides: { host: '0.0.0.0', port: 99_999 } }));
    expect(error.hint).toContain('lango config check');
    expect(error.message.split('\n')).toEqual([
      'The configuration has 10 problems:',
      '  --port: server.port must be at most 65535',
      `  ${file}:2:3: server.prot is not a known key; did you mean "port"?`,
      `  ${file}:3:24: server.limits.jsonDepth must be a number`,
      `  ${file}:4:15: auth.mode must be "token" when server.host is "0.0.0.0"; "none" is for loopback addresses such as 127.0.0.1`,
      `  ${file}:7:7: a2a.remoteAgents[0].url is missing`,
      `  ${file}:7:13: a2a.remoteAgents[0].name must be lower-case letters, digits and "-", beginning with a letter`,
      `  ${file}:8:26: a2a.remoteAgents[1].url must not hold a user name or password`,
      `  ${file}:9:21: approval.policy must be "dangerous", "all", "none" or a list`,
      `  ${file}:10:10: storage must be a group of keys`,
      '  LANGO_LOG_LEVEL: logging.level must be "debug", "info", "warn" or "error"',
    ]);
    expect(error.violations).toHaveLength(10);
  });

  it('leaves out the rules between keys when one of them is wrong by itself', async () => {
    expect(await check('model:\n  provider: anthropic\n  apiKey: 7')).toEqual([
      [3, 'must be a text (put it in quotes)'],
    ]);
  });

  it('names the unit when a value is too short', async () => {
    const problems = await check(
      'workspace: []\nvault:\n  passphrase: short\nstorage:\n  sqlite:\n    file: ""\n',
    );
    expect(problems).toEqual([
      [1, 'must be at least 1 entry long'],
      [3, 'must be at least 12 characters long'],
      [6, 'must be at least 1 character long'],
    ]);
  });

  it('names the known keys when none is near', async () => {
    const problems = await check('logging:\n  destination: x');
    expect(problems).toEqual([[2, 'is not a known key; known here: auditFile, format, level']]);
  });

  it.each([
    ['a: [1', 'flow'],
    ['server: { port: 1 }\nserver: { port: 2 }', 'appears twice'],
    ['workspace: &w [a]\negress: { allowPrivate: *w }', 'alias'],
    ['auth: { token: !secret abcdefgh }', 'tag'],
  ])('refuses %j', async (text, word) => {
    const [problem] = await check(text);
    expect(problem?.[1].toLowerCase()).toContain(word);
  });

  it('explains a malformed variable in braces once, with a hint', async () => {
    const advice = [1, expect.stringContaining('put a value with a variable in quotes: "${NAME}"')];
    expect(await check('logging: { level: ${LEVEL:-warn}, format: json }')).toEqual([advice]);
    expect(await check('workspace: [${FOLDER}, b]')).toEqual([advice]);
  });

  it('never quotes the contents of the file', async () => {
    const home = newFolder();
    const env = readEnv({ LANGO_HOME: home, KEY: 'hunter2 hunter2' });
    for (const text of [
      'auth:\n  token: "hunter2\n',
      'auth:\n  token: hunter2 hunter2\n',
      'auth:\n  token: ${KEY}\n',
      'auth:\n  token: [hunter2]\n',
      'auth:\n  token: `hunter2`\n',
      'auth:\n  token: a\n  hunter2\n',
      'auth:\n  token: !hunter2 x\n',
      'auth: { token: hunter2: hunter2 }}\n',
    ]) {
      write(home, 'config.yaml', text);
      const error = await errorOf(() => loadConfig({ env }));
      expect(error.message).not.toContain('hunter2');
    }
  });

  it('reports problems, and never fails, for any text', async () => {
    const home = newFolder();
    const env = readEnv({ LANGO_HOME: home });
    const piece = fc.constantFrom(
      ...[
        'server',
        'a2a',
        'agent',
        'roster',
        '__proto__',
        'port',
        'name',
        ': ',
        ':\n  ',
        '\n',
        '\n  ',
        '- ',
        '  - ',
      ],
      ...[
        '{',
        '}',
        '[',
        ']',
        '1',
        'null',
        'true',
        '"',
        "'",
        '${X:-1}',
        '${',
        '&a ',
        '*a',
        '!t ',
        '|',
        '? ',
        '---\n',
        '%',
      ],
    );
    const text = fc.array(piece, { maxLength: 25 }).map((pieces) => pieces.join(''));
    await fc.assert(
      fc.asyncProperty(text, async (yaml) => {
        write(home, 'config.yaml', yaml);
        const problems = await checkConfig({ env });
        for (const { at } of problems) expect(at).toMatch(/config\.yaml:\d+:\d+$/);
      }),
      { numRuns: 300 },
    );
  });

  it('refuses __proto__ like any other unknown key', async () => {
    expect(await check('__proto__: { port: 1 }\nserver: { constructor: 1 }')).toMatchObject([
      [1, expect.stringContaining('is not a known key')],
      [2, expect.stringContaining('is not a known key')],
    ]);
  });

  it('finds nothing wrong with a valid file', async () => {
    expect(await check('server: { port: 0 }')).toEqual([]);
  });
});

describe('the variables in a file', () => {
  it('are converted to the type of the key', async () => {
    const config = await loadText(
      'server: { port: "${PORT}", trustProxy: "${YES}" }\nmodel: { name: "m-${PORT}" }\nagent: { limits: { seconds: "${HALF:-0.5}" } }',
      { PORT: '8080', YES: 'true' },
    );
    expect(config.config.server).toMatchObject({ port: 8080, trustProxy: true });
    expect(config.config.model.name).toBe('m-8080');
    expect(config.config.agent.limits.seconds).toBe(0.5);
  });

  it('do not turn a secret of digits into a number', async () => {
    const digits = '836105927441953728067114';
    const { secrets } = await loadText('auth:\n  token: ${TOKEN}', { TOKEN: digits });
    expect(secrets.token).toBe(digits);
  });

  it('cannot add keys or refer to further variables', async () => {
    const { config } = await loadText('model:\n  name: ${NAME}', {
      NAME: 'x\nauth:\n  mode: none # ${HOME}',
    });
    expect(config.auth.mode).toBe('token');
    expect(config.model.name).toContain('${HOME}');
  });

  it('leave the key out when they are empty', async () => {
    const { config } = await loadText('server:\n  port: ${NONE:-}\n  host: ${EMPTY}', { EMPTY: '' });
    expect(config.server).toMatchObject({ host: '127.0.0.1', port: 4100 });
  });

  it('include LANGO_HOME also when it has its default', async () => {
    const { config } = await loadText('workspace:\n  - ${LANGO_HOME}/files', {});
    expect(config.workspace).toEqual([join(config.home, 'files')]);
  });

  it('are reported once as a problem of their own when they are not set', async () => {
    expect(await check('a2a:\n  remoteAgents:\n    - name: far\n      url: ${NOWHERE}')).toEqual([
      [4, 'needs the environment variable NOWHERE, which is not set; set it, or write ${NOWHERE:-default}'],
    ]);
  });
});

describe('a rule between keys', () => {
  const env = readEnv({ LANGO_HOME: '/data/lango' });
  const problem = async (settings: Parameters<typeof resolveConfig>[0]['settings']) =>
    (await errorOf(() => resolveConfig({ env, settings }))).violations?.[0]?.field;

  it.each(['127.0.0.1', '127.8.9.10', 'localhost', '::1'])('accepts auth.mode none on %s', (host) => {
    expect(resolveConfig({ env, settings: { auth: { mode: 'none' }, server: { host } } })).toBeDefined();
  });

  it.each(['0.0.0.0', '::', '192.168.1.4', 'localhost.example', '127.example'])(
    'refuses auth.mode none on %s',
    async (host) => {
      expect(await problem({ auth: { mode: 'none' }, server: { host } })).toBe('auth.mode');
      const server = { host, allowRisks: ['plainHttp' as const] };
      expect(resolveConfig({ env, settings: { server } }).config.server.host).toBe(host);
    },
  );

  it('requires for a provider everything that it needs', async () => {
    expect(await problem({ model: { provider: 'anthropic' } })).toBe('model.provider');
    expect(await problem({ model: { provider: 'openai', name: 'm' } })).toBe('model.provider');
    expect(await problem({ model: { provider: 'openai', apiKey: 'k' } })).toBe('model.provider');
    const local = { provider: 'openai', name: 'm', baseUrl: 'http://127.0.0.1:1/v1' } as const;
    expect(resolveConfig({ env, settings: { model: local } }).config.model.provider).toBe('openai');
  });

  it('keeps agents from writing the files that govern them', async () => {
    expect(await problem({ workspace: ['/w', '/data'] })).toBe('workspace[1]');
    expect(await problem({ workspace: ['/data/lango'] })).toBe('workspace[0]');
    expect(await problem({ workspace: ['/w'], storage: { sqlite: { file: '/w/x/lango.db' } } })).toBe(
      'workspace[0]',
    );
    expect(await problem({ workspace: ['/'] })).toBe('workspace[0]');
    expect(resolveConfig({ env, settings: { workspace: ['/data/lango-2'] } })).toBeDefined();
  });

  it('M5 requires distinct names in a custom roster, and at most one agent that takes unmatched tools', async () => {
    const spec = { name: 'a', description: 'd', instruction: 'i' };
    const roster = (...specs: (typeof spec & { takesUnmatched?: boolean })[]) => ({
      agent: { roster: specs },
    });
    expect(await problem(roster(spec, spec))).toBe('agent.roster[1].name');
    expect(await problem(roster({ ...spec, name: 'lango-agent' }))).toBe('agent.roster[0].name');
    expect(
      await problem(roster({ ...spec, takesUnmatched: true }, { ...spec, name: 'b', takesUnmatched: true })),
    ).toBe('agent.roster[1].takesUnmatched');
    expect(
      await problem({ ...roster(spec), a2a: { remoteAgents: [{ name: 'a', url: 'http://a.example' }] } }),
    ).toBe('a2a.remoteAgents[0].name');
    const ownAgents = [spec];
    expect(await problem({ agent: { ownAgents: [spec, spec] } })).toBe('agent.ownAgents[1].name');
    expect(
      await problem({
        agent: { ownAgents },
        a2a: { remoteAgents: [{ name: 'a', url: 'http://a.example' }] },
      }),
    ).toBe('a2a.remoteAgents[0].name');
    expect(resolveConfig({ env, settings: roster(spec) }).config.agent.roster).toEqual([
      { ...spec, prefixes: [], alwaysInclude: false, takesUnmatched: false },
    ]);
  });
});

describe('the configured model', () => {
  const modelOf = (variables: Record<string, string>, model = {}) => {
    const { config, secrets } = resolveConfig({ env: readEnv(variables), settings: { model } });
    return [config.model.provider, config.model.name, secrets.modelKeys.get(config.model.provider)];
  };

  it('is that of the key that is set, Anthropic before OpenAI, and the offline one without a key', () => {
    expect(modelOf({})).toEqual(['offline', undefined, undefined]);
    expect(modelOf({ OPENAI_API_KEY: 'o' })).toEqual(['openai', 'gpt-6.1-sol', 'o']);
    expect(modelOf({ OPENAI_API_KEY: 'o' }, { provider: 'auto', name: 'm' })).toEqual(['openai', 'm', 'o']);
    expect(modelOf({ ANTHROPIC_API_KEY: 'a' })).toEqual(['anthropic', 'claude-sonnet-5-5', 'a']);
    const home = newFolder();
    write(home, 'key', 'o\n');
    expect(modelOf({ OPENAI_API_KEY_FILE: join(home, 'key') })).toEqual(['openai', 'gpt-6.1-sol', 'o']);
    expect(modelOf({ ANTHROPIC_API_KEY: 'a', OPENAI_API_KEY: 'o' })).toEqual([
      'anthropic',
      'claude-sonnet-5-5',
      'a',
    ]);
    expect(modelOf({ OPENAI_API_KEY: 'o' }, { apiKey: 'f' })).toEqual([
      'anthropic',
      'claude-sonnet-5-5',
      'f',
    ]);
    expect(modelOf({}, { apiKey: 'f' })).toEqual(['anthropic', 'claude-sonnet-5-5', 'f']);
    expect(modelOf({ ANTHROPIC_API_KEY: 'a' }, { provider: 'offline' })).toEqual([
      'offline',
      undefined,
      undefined,
    ]);
  });

  it.each([
    [{}, {}, 'neither ANTHROPIC_API_KEY nor OPENAI_API_KEY is set'],
    [{ OPENAI_API_KEY: 'o' }, {}, 'OPENAI_API_KEY is set'],
    [{ ANTHROPIC_API_KEY: 'a', OPENAI_API_KEY: 'o' }, {}, 'ANTHROPIC_API_KEY is set'],
    [{}, { apiKey: 'f' }, 'model.apiKey is set'],
    [{ ANTHROPIC_API_KEY: 'a' }, { provider: 'offline' }, 'model.provider is offline'],
  ] as const)('comes with the reason of its choice: %j %j', (variables, model, reason) => {
    const { config } = resolveConfig({ env: readEnv(variables), settings: { model } });
    expect(config.model.reason).toBe(reason);
  });

  it('inherits from `model` for an agent or a fallback, with the key of its own vendor', () => {
    const variables = { ANTHROPIC_API_KEY: 'a', OPENAI_API_KEY: 'o' };
    const { config, secrets } = resolveConfig({
      env: readEnv(variables),
      settings: {
        model: { effort: 'high', timeoutSeconds: 9, fallbacks: [{ provider: 'openai' }, 'claude-b'] },
        agent: {
          models: {
            planner: { temperature: 1 },
            vault: { provider: 'openai', name: 'llama', baseUrl: 'http://127.0.0.1:11434/v1' },
          },
        },
      },
    });
    const { planner, vault } = config.agent.models;
    const words = ({ provider, name, effort, timeoutSeconds, key }: ModelChoice) =>
      [provider, name, effort, timeoutSeconds, secrets.modelKeys.get(key)].join(' ');
    expect([planner!, vault!, ...planner!.fallbacks].map(words)).toEqual([
      'anthropic claude-sonnet-5-5 high 9 a',
      'openai llama  9 ',
      'openai gpt-6.1-sol  9 o',
      'anthropic claude-b  9 a',
    ]);
  });

  it('is refused with the position of a value that no vendor accepts', async () => {
    const text = [
      'model: { provider: anthropic, apiKey: k, effort: none, fallbacks: [gpt-6.1-sol, { provider: openai }] }',
      'agent:',
      '  models:',
      '    planner: { provider: openai, thinking: off, baseUrl: "http://127.0.0.1:9" }',
      '    vault: { efort: low }',
    ].join('\n');
    expect(await check(text)).toEqual([[5, 'is not a known key; did you mean "effort"?']]);
    const rest = text.replace('efort', 'effort');
    expect(await check(rest)).toEqual([
      [1, expect.stringContaining('for anthropic')],
      [1, 'is anthropic, which has no model "gpt-6.1-sol"; set the provider to openai'],
      [1, 'needs a key: set model.apiKeys.openai or OPENAI_API_KEY'],
      [4, expect.stringContaining('is for anthropic')],
      [4, expect.stringContaining('needs the name of a model')],
    ]);
  });

  it('uses the key of its own vendor, and the key in the file before the variable', () => {
    const keys = { ANTHROPIC_API_KEY: 'a', OPENAI_API_KEY: 'o' };
    expect(modelOf(keys, { provider: 'openai', name: 'm' })).toEqual(['openai', 'm', 'o']);
    expect(modelOf(keys, { provider: 'anthropic', apiKey: 'f' })).toEqual([
      'anthropic',
      'claude-sonnet-5-5',
      'f',
    ]);
  });
});

async function loadText(text: string, variables: Record<string, string>) {
  const home = newFolder();
  write(home, 'config.yaml', text);
  return loadConfig({ env: readEnv({ ...variables, LANGO_HOME: home }) });
}

/** The line and text of each problem. */
async function check(text: string): Promise<readonly [number, string][]> {
  const home = newFolder();
  write(home, 'config.yaml', text);
  const problems = await checkConfig({ env: readEnv({ LANGO_HOME: home }) });
  return problems.map((problem) => [Number(problem.at.split(':').at(-2)), problem.text]);
}
