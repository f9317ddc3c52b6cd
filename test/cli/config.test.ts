import { describe, expect, it } from '@jest/globals';
import { langoHere } from './lango-here.js';
import { lango, makeHome } from './lango-process.js';

describe('lango config', () => {
  it('check reports every problem with its place', async () => {
    const home = await makeHome('server:\n  port: 70000\nmodle: {}\n');
    const words = await lango(['config', 'check'], home);
    const json = await lango(['config', 'check', '--json'], home);
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

  it('check is content with a right one', async () => {
    const home = await makeHome('server: { port: 4200 }');
    expect(await lango(['config', 'check'], home)).toMatchObject({ code: 0, stderr: '' });
    await home.remove();
  });

  it('show says what holds and where it came from, without secrets', async () => {
    const home = await makeHome('server: { port: 4200 }\nauth: { token: very-secret-token-4c19 }');
    const words = await lango(['config', 'show'], home);
    const json = await lango(['config', 'show', '--json'], home);
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

  it('show leaves out only what is wrong, and says it', async () => {
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

  it('schema is the JSON Schema of the file', async () => {
    const { code, stdout } = await lango(['config', 'schema']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ title: 'Lango configuration', properties: {} });
  });
});
