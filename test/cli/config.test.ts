import { describe, expect, it } from '@jest/globals';
import { chmod, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { readEnv } from '../../src/config/env.js';
import { loadConfig } from '../../src/config/load.js';
import { secretValues } from '../../src/config/secrets.js';
import { langoHere } from './lango-here.js';
import { lango, makeHome } from './lango-process.js';

describe('lango config', () => {
  it('check reports every problem with its place', async () => {
    const home = await makeHome('server:\n  port: 70000\nmodle: {}\n');
    const words = await lango(['config', 'check'], home);
    const json = await langoHere(['config', 'check', '--json'], home);
    await home.remove();
    expect(words).toMatchObject({ code: 1, stderr: '' });
    expect(words.stdout).toMatch(
      /config\.yaml:2:9: server\.port .*\n.*config\.yaml:3:1: modle is not a known key/,
    );
    expect(JSON.parse(json.stdout)).toMatchObject({
      ok: false,
      problems: [{ key: 'server.port' }, { key: 'modle' }],
    });
  });

  it('check finds what a start would refuse or leave out', async () => {
    const home = await makeHome(
      [
        'workspace: [/proc/work]',
        'agent: { houseRulesFile: none.md, models: { vaul: m } }',
        'server: { tls: { certFile: none.pem, keyFile: none.key } }',
        'a2a:',
        '  publish: [lango-orchestrator, operater]',
        '  remoteAgents: [{ name: lango-far, url: "https://far.example" }]',
      ].join('\n'),
    );
    await writeFile(path.join(home.folder, 'token'), 'letmein\n', { mode: 0o600 });
    const { code, stdout } = await langoHere(['config', 'check', '--json'], home);
    const files = await readdir(home.folder);
    await home.remove();
    const { problems } = JSON.parse(stdout) as { problems: { at: string; key: string; text: string }[] };
    expect(code).toBe(1);
    expect(problems.map(({ at, key, text }) => `${at.replace(/^.*\.yaml/, '')} ${key} ${text}`)).toEqual([
      expect.stringMatching(
        /auth\.token is wrong: The token of the data folder can be guessed\. Delete its file/,
      ),
      expect.stringMatching(/^:1:13 workspace\[0\] is wrong: \/proc cannot be written/),
      expect.stringMatching(/^:2:26 agent\.houseRulesFile is wrong: There is no file .*none\.md/),
      ':2:51 agent.models.vaul names no agent of this server; did you mean "vault"?',
      expect.stringMatching(/^:3:28 server\.tls\.certFile is wrong: TLS: .*none\.pem cannot be read/),
      ':5:33 a2a.publish[1] names no agent of this server; did you mean "operator"?',
      expect.stringMatching(/^:6:17 a2a\.remoteAgents is not used without a2a\.enabled: true/),
    ]);
    expect(files.sort()).toEqual(['config.yaml', 'token']);
  });

  it('check finds a remote agent whose name is taken by an agent of this server', async () => {
    const remoteAgents = '[{ name: operator, url: "https://far.example" }]';
    const home = await makeHome(`a2a: { enabled: true, remoteAgents: ${remoteAgents} }`);
    const taken = await langoHere(['config', 'check'], home);
    await home.remove();
    expect(taken.stdout).toMatch(
      /a2a\.remoteAgents\[0\]\.name is the name of an agent of this node, which hides/,
    );
  });

  it('check and doctor find agents that are not used, as the server runs one agent', async () => {
    const own = '{ name: writer, description: Writes., instruction: You write. }';
    const home = await makeHome(
      [
        `agent: { multiAgent: false, ownAgents: [${own}] }`,
        'a2a: { enabled: true, remoteAgents: [{ name: far, url: "https://far.example" }] }',
      ].join('\n'),
    );
    const check = await langoHere(['config', 'check'], home);
    const { stdout } = await langoHere(['doctor'], home);
    await home.remove();
    const unused = 'is not used with agent.multiAgent: false';
    expect(check).toMatchObject({ code: 1, stdout: expect.stringContaining(`agent.ownAgents ${unused}`) });
    expect(check.stdout).toContain(`a2a.remoteAgents ${unused}`);
    expect(stdout.match(/^warn .*agent\.ownAgents is not used/gm)).toHaveLength(1);
    expect(stdout.match(/^warn .*a2a\.remoteAgents is not used/gm)).toHaveLength(1);
  });

  it('check finds an own agent whose prefixes begin the name of no tool', async () => {
    const about = 'description: Files., instruction: You file.';
    const own = [
      `{ name: clerk, ${about}, prefixes: [files_] }`,
      `{ name: porter, ${about}, prefixes: [files_, fs_re] }`,
      `{ name: writer, ${about} }`,
    ];
    const home = await makeHome(`agent: { ownAgents: [${own.join(', ')}] }`);
    const { code, stdout } = await langoHere(['config', 'check'], home);
    const doctor = await langoHere(['doctor'], home);
    await home.remove();
    expect(code).toBe(1);
    expect(doctor.stdout.match(/^warn .*clerk is left out.*$/gm)).toHaveLength(1);
    expect(stdout).toMatch(
      /^\S+: agent\.ownAgents\[0\]\.prefixes begin the name of no tool .*clerk is left out.*\n$/,
    );
  });

  it('check accepts every secret in a file that a variable with _FILE names', async () => {
    const home = await makeHome(
      [
        'a2a:',
        '  enabled: true',
        '  remoteAgents: [{ name: lango-far, url: "https://far.example", token: "${FAR}" }]',
        'webSearch: { provider: brave, apiKey: "${BRAVE}" }',
      ].join('\n'),
    );
    const file = path.join(home.folder, 'secret');
    const names = ['LANGO_TOKEN', 'ANTHROPIC_API_KEY', 'LANGO_VAULT_PASSPHRASE', 'FAR', 'BRAVE'];
    const env = { ...home.env, ...Object.fromEntries(names.map((name) => [`${name}_FILE`, file])) };
    const keys = [
      'auth.token',
      'model.apiKey',
      'vault.passphrase',
      'a2a.remoteAgents[0].token',
      'webSearch.apiKey',
    ];
    const check = async (changed = {}): Promise<readonly string[]> => {
      const { stdout } = await langoHere(['config', 'check', '--json'], { env: { ...env, ...changed } });
      const { problems } = JSON.parse(stdout) as { problems: { at: string; key: string; text: string }[] };
      return problems.map(({ at, key, text }) => `${at.replace(/^.*\.yaml:/, '')} ${key} ${text}`);
    };
    const unread = keys.map((key) => expect.stringContaining(`${key} cannot be read from the file of`));
    expect(await check()).toEqual(expect.arrayContaining(unread));
    await writeFile(file, '', { mode: 0o600 });
    expect(await check()).toContain(
      `LANGO_TOKEN_FILE auth.token comes from ${file}, which is empty (LANGO_TOKEN_FILE)`,
    );
    await writeFile(file, 'J7cS2qVxR9dLw4KfZ0bT\n');
    expect(await check()).toEqual([]);
    expect(await check({ LANGO_TOKEN: 'another' })).toEqual([
      'LANGO_TOKEN_FILE auth.token has both LANGO_TOKEN and LANGO_TOKEN_FILE; set one of them',
    ]);
    const loaded = await loadConfig({ env: readEnv(env) });
    expect(new Set(secretValues(loaded.secrets))).toEqual(new Set(['J7cS2qVxR9dLw4KfZ0bT']));
    const { stdout } = await langoHere(['config', 'show'], { env });
    for (const key of keys) expect(stdout).toContain(`${key} = "set"`);
    await chmod(file, 0o644);
    expect(await check()).toEqual([
      expect.stringContaining('token is refused: other users of this machine can read'),
    ]);
    await home.remove();
  });

  it('check names the valid file that it read, or says that there is none', async () => {
    const home = await makeHome('server: { port: 4200 }');
    const file = path.join(home.folder, 'config.yaml');
    const valid = { code: 0, stdout: `${file} is valid.\n`, stderr: '' };
    expect(await langoHere(['config', 'check'], home)).toMatchObject(valid);
    await rm(file);
    const none = { code: 0, stdout: `There is no ${file}: all keys have their defaults.\n`, stderr: '' };
    expect(await langoHere(['config', 'check'], home)).toMatchObject(none);
    await home.remove();
  });

  it('show prints the values in force and their sources, without secrets', async () => {
    const home = await makeHome('server: { port: 4200 }\nauth: { token: very-secret-token-4c19 }');
    const words = await langoHere(['config', 'show'], home);
    const json = await langoHere(['config', 'show', '--json'], home);
    await home.remove();
    expect(words.stdout).toContain('server.port = 4200  (file)');
    expect(words.stdout).toContain('auth.token = "set"  (file)');
    expect(words.stdout + json.stdout).not.toContain('very-secret-token-4c19');
    const { keys } = JSON.parse(json.stdout) as { keys: { key: string }[] };
    expect(keys.find(({ key }) => key === 'server.port')).toEqual({
      key: 'server.port',
      value: 4200,
      origin: 'file',
    });
  });

  it('show leaves out only wrong values, and reports them', async () => {
    const home = await makeHome(
      'server: { port: 4200 }\nlogging: { level: "${NO_LEVEL}" }\nagent: { limits: { turns: 0 } }',
    );
    const words = await langoHere(['config', 'show'], home);
    const json = await langoHere(['config', 'show', '--json'], home);
    await home.remove();
    expect(words).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        /agent\.limits\.turns = - {2}\(error\)[^]*server\.port = 4200 {2}\(file\)/,
      ),
      stderr: expect.stringContaining(
        'config.yaml:2:19: logging.level needs the environment variable NO_LEVEL',
      ),
    });
    expect(JSON.parse(json.stdout)).toMatchObject({
      problems: [{ key: 'logging.level' }, { key: 'agent.limits.turns' }],
    });
  });

  it('schema prints the JSON Schema of the file', async () => {
    const { code, stdout } = await lango(['config', 'schema']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ title: 'Lango configuration', properties: {} });
  });
});
