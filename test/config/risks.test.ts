import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readEnv } from '../../src/config/env.js';
import { checkConfig, resolveConfig } from '../../src/config/load.js';
import { isWeakToken } from '../../src/config/risks.js';
import { warnOfWritable } from '../../src/config/folders.js';
import { createServer } from '../../src/index.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { startServer } from '../support/server.js';

type Settings = NonNullable<Parameters<typeof resolveConfig>[0]['settings']>;

const TOKEN = 'J7cS2qVxR9dLw4KfZ0bT';
const env = readEnv({ LANGO_HOME: '/data/lango' });

function problemsOf(settings: Settings): readonly string[] {
  try {
    resolveConfig({ env, settings });
    return [];
  } catch (error) {
    const { violations = [] } = error as { violations?: { field: string; description: string }[] };
    return violations.map(({ field, description }) => `${field}: ${/add (\w+) to/.exec(description)?.[1]}`);
  }
}

const far = { name: 'far', url: 'http://far.example:4100', token: TOKEN };

const RISKY: readonly (readonly [risk: string, key: string, settings: Settings])[] = [
  ['weakToken', 'auth.token', { auth: { token: 'a-short-token' } }],
  ['plainHttp', 'server.host', { server: { host: '0.0.0.0' } }],
  ['plainHttp', 'server.host', { server: { host: '192.168.1.4' }, auth: { mode: 'token' } }],
  [
    'trustProxy',
    'server.trustProxy',
    { server: { host: '::', trustProxy: true, tls: { certFile: 'a', keyFile: 'b' } } },
  ],
  ['plainHttpToken', 'a2a.remoteAgents[0].url', { a2a: { remoteAgents: [far] } }],
  [
    'plainHttpToken',
    'a2a.remoteAgents[0].url',
    { a2a: { remoteAgents: [{ name: 'far', url: far.url, owners: 'forward' }] } },
  ],
  [
    'plainHttpToken',
    'auth.nodes[0].jwks',
    { auth: { audience: 'here', nodes: [{ name: 'front', jwks: 'http://front.example/keys' }] } },
  ],
  [
    'plainHttpToken',
    'a2a.keptAt.secrets.url',
    { a2a: { keptAt: { secrets: { url: 'http://vault.example' } } } },
  ],
  [
    'plainHttpToken',
    'model.baseUrl',
    { model: { provider: 'openai', name: 'm', apiKey: 'key', baseUrl: 'http://models.example/v1' } },
  ],
  [
    'plainHttpToken',
    'model.baseUrl',
    {
      model: { provider: 'openai', name: 'm', apiKeys: { openai: 'k' }, baseUrl: 'http://models.example/v1' },
    },
  ],
  [
    'plainHttpToken',
    'agent.models.planner.baseUrl',
    {
      agent: {
        models: { planner: { provider: 'openai', name: 'm', apiKey: 'k', baseUrl: 'http://m.example' } },
      },
    },
  ],
];

describe('remote agents for several owners', () => {
  const JWT = { mode: 'jwt' as const, jwt: { issuer: 'https://issuer.example', audience: ['lango'] } };
  const distant = { name: 'far', url: 'https://far.example' };
  const at = (auth: NonNullable<Settings>['auth'], owners?: 'forward' | 'shared'): readonly string[] => {
    const remote = owners ? { ...distant, owners } : distant;
    return problemsOf({ auth, a2a: { enabled: true, remoteAgents: [remote] } });
  };

  it('need a setting for the owner at the other node', () => {
    expect(at(JWT)).toEqual(['a2a.remoteAgents[0].owners: undefined']);
    expect(at(JWT, 'forward')).toEqual([]);
    expect(at(JWT, 'shared')).toEqual([]);
    expect(at({ mode: 'token' })).toEqual([]);
    const nodes = [{ name: 'front', jwks: 'https://front.example/.well-known/jwks.json' }];
    expect(at({ nodes, audience: 'here' })).toEqual(['a2a.remoteAgents[0].owners: undefined']);
    expect(at({ nodes }, 'shared')).toEqual(['auth.nodes: undefined']);
  });
});

describe('the credential for a remote agent', () => {
  const at = (auth: object, more: object = {}): readonly string[] =>
    problemsOf({
      a2a: { remoteAgents: [{ name: 'far', url: 'https://far.example', auth, ...more }] },
    });
  const client = { clientId: 'front', clientSecret: 'secret' };
  const mtls = { certFile: 'a', keyFile: 'b' };

  it.each([
    ['nothing', {}, ''],
    ['two of them', { bearer: 'abc', basic: { user: 'me', password: 'x' } }, ''],
    ['a key in two places', { apiKey: { header: 'x', query: 'x', value: 'x' } }, '.apiKey'],
    ['a key without a value', { apiKey: { header: 'x' } }, '.apiKey'],
    ['a user with a colon', { basic: { user: 'a:b', password: 'x' } }, '.basic'],
    ['a client without an issuer', { oauth2: client }, '.oauth2'],
    ['a client without a secret', { oauth2: { clientId: 'a', issuer: 'https://i.example' } }, '.oauth2'],
    ['an issuer without TLS', { oauth2: { ...client, issuer: 'http://i.example' } }, '.oauth2.issuer'],
    [
      'a token endpoint without TLS',
      { oauth2: { ...client, tokenUrl: 'http://i.example' } },
      '.oauth2.tokenUrl',
    ],
    ['a key with an unknown member', { apiKey: { header: 'x', value: 'x', cookie: 'x' } }, '.apiKey.cookie'],
  ])('is refused with %s', (_, auth, key) => {
    expect(at(auth)).toEqual([`a2a.remoteAgents[0].auth${key}: undefined`]);
  });

  it('has one issuer, is set in one place, and is sent encrypted', () => {
    const oauth2 = { ...client, issuer: 'https://i.example' };
    for (const auth of [{ bearer: 'abc' }, { mtls }, { mtls, oauth2 }, { oauth2 }])
      expect(at(auth)).toEqual([]);
    expect(at({ bearer: 'abc' }, { token: 'abc' })).toEqual(['a2a.remoteAgents[0].auth: undefined']);
    expect(at({ oauth2 }, { owners: 'forward' })).toEqual(['a2a.remoteAgents[0].auth: undefined']);
    expect(at({ mtls }, { owners: 'forward' })).toEqual([]);
    const open = { url: 'http://far.example' };
    expect(at({ oauth2 }, open)).toEqual(['a2a.remoteAgents[0].url: plainHttpToken']);
    expect(at({ mtls }, { url: 'http://127.0.0.1:1' })).toEqual(['a2a.remoteAgents[0].auth.mtls: undefined']);
  });
});

describe('a risk that server.allowRisks does not name', () => {
  it.each(RISKY)('keeps the server from starting: %s at %s', (risk, key, settings) => {
    expect(problemsOf(settings)).toEqual([`${key}: ${risk}`]);
    const server = { ...settings.server, allowRisks: [risk as never] };
    expect(problemsOf({ ...settings, server })).toEqual([]);
  });

  it('is none where a connection stays on this machine or is encrypted', () => {
    for (const settings of [
      {},
      { server: { host: '127.0.0.1', trustProxy: true } },
      { server: { host: '::', tls: { certFile: 'a', keyFile: 'b' } } },
      { auth: { token: TOKEN } },
      { a2a: { remoteAgents: [{ ...far, url: 'https://far.example' }] } },
      { a2a: { remoteAgents: [{ ...far, url: 'http://127.0.0.1:4101' }] } },
      { a2a: { remoteAgents: [{ name: 'far', url: 'http://far.example' }] } },
    ] satisfies Settings[])
      expect(problemsOf(settings)).toEqual([]);
  });
});

describe('a file of the operator', () => {
  let home: string;
  beforeEach(async () => {
    home = await mkdtemp(path.join(tmpdir(), 'lango-risks-'));
  });
  afterEach(() => rm(home, { recursive: true }));

  it('is refused when it has a secret that other users can read', async () => {
    const file = path.join(home, 'config.yaml');
    const problems = async (text: string, mode: number) => {
      await writeFile(file, text);
      await chmod(file, mode);
      const found = await checkConfig({ env: readEnv({ LANGO_HOME: home, TOKEN }) });
      return found.map(({ at, key, text: said }) => `${path.basename(at)} ${key} ${said}`);
    };
    const written = `auth: { token: ${TOKEN} }\n`;
    expect(await problems(written, 0o644)).toEqual([
      'config.yaml:1:16 auth.token is refused: other users of this machine can read a file with secrets, which chmod 600 prevents; if that is meant, add readableSecrets to server.allowRisks',
    ]);
    expect(await problems(written, 0o640)).toEqual([]);
    expect(await problems('auth: { token: "${TOKEN}" }\n', 0o644)).toEqual([]);
    expect(await problems(`${written}server: { allowRisks: [readableSecrets] }\n`, 0o644)).toEqual([]);
    const [certFile, keyFile] = [path.join(home, 'cert.pem'), path.join(home, 'key.pem')];
    await writeFile(keyFile, 'a key', { mode: 0o644 });
    const tls = `server: { tls: { certFile: ${certFile}, keyFile: ${keyFile} } }\n`;
    expect(await problems(tls, 0o644)).toEqual([expect.stringContaining('server.tls.keyFile is refused')]);
    await chmod(keyFile, 0o640);
    expect(await problems(tls, 0o644)).toEqual([]);
  });

  it('is warned about when every user can change it, and so is the data folder', async () => {
    const settings = { server: { port: 0 } };
    const file = path.join(home, 'config.yaml');
    const warned = () => {
      const logger = new RecordingLogger();
      warnOfWritable({ home, file }, logger);
      return logger.lines.map((line) => (JSON.parse(line) as { path: string }).path);
    };
    await writeFile(file, '');
    expect(warned()).toEqual([]);
    await chmod(file, 0o666);
    await chmod(home, 0o777);
    expect(warned()).toEqual([home, file]);
    const server = await startServer({ home, settings });
    await server.stop();
    const said = server.log.lines.filter((line) => line.includes('every user of this machine'));
    expect(said).toHaveLength(1);
  });

  it('keeps the server from starting when it has a guessable token', async () => {
    await writeFile(path.join(home, 'token'), 'password\n', { mode: 0o600 });
    const server = createServer({ home, settings: { server: { port: 0 } } });
    await expect(server.start()).rejects.toMatchObject({
      code: 'invalid-config',
      message: 'The token of the data folder can be guessed.',
    });
  });
});

describe('isWeakToken', () => {
  it.each([
    'secret',
    'a'.repeat(64),
    'password'.repeat(8),
    '12345678901234567890123456',
    'abcdefghijklmnopqrstuvwxyz',
    '00000000000000000000000000000001',
  ])('returns true for %s', (token) => expect(isWeakToken(token)).toBe(true));

  it.each([
    TOKEN,
    '5f4dcc3b5aa765d61d8327deb882cf99',
    '0f8fad5b-d9cb-469f-a165-70867728950e',
    'correct-horse-battery-staple',
  ])('returns false for %s', (token) => expect(isWeakToken(token)).toBe(false));
});
