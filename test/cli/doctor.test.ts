import { describe, expect, it } from '@jest/globals';
import { access, chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { certificate, writePair } from '../support/certificates.js';
import { API_KEY } from '../support/model-wire.js';
import { responsesWire } from '../support/responses-wire.js';
import { events, ScriptedServer, status, type Reply } from '../support/scripted-server.js';
import { VENDORS } from '../support/vendors.js';
import { langoHere, startServerHere } from './lango-here.js';
import { lango, makeHome, startServer } from './lango-process.js';

describe('lango doctor', () => {
  it('finds nothing wrong with a fresh machine, and changes nothing', async () => {
    const home = await makeHome('server: { port: 0 }');
    const { code, stdout } = await lango(['doctor'], home);
    const files = ['lango.db', 'token', 'workspace'].map((name) => path.join(home.folder, name));
    const made = await Promise.all(
      files.map((file) =>
        access(file).then(
          () => true,
          () => false,
        ),
      ),
    );
    await home.remove();
    expect(code).toBe(0);
    for (const check of ['node', 'configuration', 'data folder', 'token', 'database', 'start']) {
      expect(stdout).toMatch(new RegExp(`^ok {4}${check}: `, 'm'));
    }
    expect(stdout).toMatch(/^warn {2}model: offline/m);
    expect(made).toEqual([false, false, false]);
  });

  it('says that a proxy needs a newer Node than this one', async () => {
    const home = await makeHome('egress: { proxy: "http://127.0.0.1:9" }');
    const { node } = process.versions;
    const claim = (value: string) =>
      Object.defineProperty(process.versions, 'node', { value, configurable: true });
    claim('22.20.0');
    const { code, stdout } = await langoHere(['doctor'], { env: home.env }).finally(() => claim(node));
    await home.remove();
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^fail {2}proxy: A proxy needs Node 22\.21 or 24\.5, or newer; this is 22\.20\.0\./m,
    );
    expect(stdout).toContain('set egress.proxy: direct');
  });

  it('recognizes the running server, and checks whether its address leads back to it', async () => {
    const home = await makeHome('a2a: { baseUrl: "http://127.0.0.1:1" }\ndisk: { tasksMb: 5 }');
    const server = await startServer(home);
    const { code, stdout } = await langoHere(['doctor', '--json'], { env: server.env });
    await server.stop();
    await home.remove();
    const { findings } = JSON.parse(stdout) as { findings: { check: string; status: string }[] };
    expect(code).toBe(1);
    expect(findings.find(({ check }) => check === 'server')).toMatchObject({ status: 'ok' });
    expect(findings.find(({ check }) => check === 'database')).toMatchObject({
      text: expect.stringContaining('in use by the running server'),
    });
    expect(findings.find(({ check }) => check === 'tasks')).toMatchObject({
      ...{ status: 'ok', text: 'yours take 0.0 of 5.0 MB in the database (disk.tasksMb)' },
    });
    expect(findings.find(({ check }) => check === 'address')).toMatchObject({ status: 'fail' });
  });

  it('recognizes its own server by a certificate that no authority has signed', async () => {
    const home = await makeHome();
    await writePair(home.folder, 'server', await certificate('ours'));
    const tls = '{ certFile: server.pem, keyFile: server.key }';
    const settings = `server: { tls: ${tls}, grpc: { enabled: true, port: 0 } }`;
    await writeFile(path.join(home.folder, 'config.yaml'), settings);
    const server = await startServerHere(home);
    // The certificate is for 127.0.0.1.
    const env = { ...server.env, LANGO_URL: server.origin.replace('127.0.0.1', 'localhost') };
    const { code, stdout } = await langoHere(['doctor'], { env });
    const sent = await langoHere(['send', 'hello', '--transport', 'grpc'], { env: server.env });
    await writePair(home.folder, 'server', await certificate('another'));
    const refused = await langoHere(['send', 'hello'], { env });
    await server.stop();
    await home.remove();
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^ok {4}server: one runs at https:/m),
    });
    expect(sent).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Hello!/), stderr: '' });
    expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining('is not trusted') });
  });

  it('reports for each family of tools whether it is on, off, or what is missing', async () => {
    const home = await makeHome(
      'server: { port: 0 }\ntools: { fs: { enabled: false }, browser: { executable: /nowhere/chromium } }',
    );
    const { stdout } = await langoHere(['doctor'], home);
    await home.remove();
    expect(stdout).toMatch(/^ok {4}tools fs: off/m);
    expect(stdout).toMatch(/^ok {4}tools exec: on/m);
    expect(stdout).toMatch(/^warn {2}tools browser: missing: .*\n {6}Correct tools\.browser\.executable/m);
    expect(stdout.match(/nowhere/g)).toHaveLength(1);
  });

  it('reports why the running server has no vault, as the commands do', async () => {
    const home = await makeHome();
    const env = { ...home.env, LANGO_VAULT_PASSPHRASE: 'correct horse battery staple' };
    await langoHere(['secrets', 'set', 'github'], { env, input: 'ghp_S3cr3t/To+ken42' });
    const server = await startServerHere(home);
    const seen = await langoHere(['doctor'], { env: server.env });
    const listed = await langoHere(['secrets', 'list'], { env: server.env });
    await server.stop();
    await home.remove();
    const why = 'The vault is locked with a passphrase';
    expect(seen.stdout).toMatch(
      new RegExp(`^warn {2}tools secrets: in the running server missing: ${why}`, 'm'),
    );
    expect(listed).toMatchObject({ code: 1, stderr: expect.stringContaining(why) });
  });

  it('reports what is wrong with the configuration, and stops there', async () => {
    const home = await makeHome('modle: {}');
    const { code, stdout } = await langoHere(['doctor'], home);
    await home.remove();
    expect(code).toBe(1);
    expect(stdout).toMatch(/^fail {2}configuration: .*modle is not a known key/m);
    expect(stdout).not.toContain('start:');
  });

  it('reports unusable files', async () => {
    const home = await makeHome('server: { port: 0 }');
    await writeFile(path.join(home.folder, 'lango.db'), 'not a database, but longer than a header'.repeat(9));
    await writeFile(path.join(home.folder, 'token'), 'a-token\n');
    await chmod(path.join(home.folder, 'token'), 0o644);
    const { code, stdout } = await langoHere(['doctor'], home);
    await home.remove();
    expect(code).toBe(1);
    expect(stdout).toMatch(/^fail {2}database: .*lango\.db is not a database\.$/m);
    expect(stdout).toMatch(/^fail {2}token: .*can be read by other users\.$/m);
  });

  it('reports remote agents and the missing sandbox', async () => {
    const home = await makeHome(
      [
        'server: { port: 0 }',
        'tools: { exec: { sandbox: "off" } }',
        'a2a: { enabled: true, remoteAgents: [{ name: far, url: "http://127.0.0.1:1", allowPrivate: true }] }',
      ].join('\n'),
    );
    const { code, stdout } = await langoHere(['doctor'], home);
    await home.remove();
    expect(code).toBe(1);
    expect(stdout).toMatch(/^warn {2}sandbox: .*switched off/m);
    expect(stdout).toMatch(/^fail {2}agent far: 127\.0\.0\.1:1 cannot be reached/m);
  });

  it('calls the model on request', async () => {
    const home = await makeHome('server: { port: 0 }');
    const { code, stdout } = await langoHere(['doctor', '--model'], home);
    await home.remove();
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ok {4}model: offline answered: ./m);
  });

  it.each([...VENDORS, { provider: 'openai', wire: responsesWire, base: '/v1', api: 'responses' }])(
    "calls a model of $provider, and repeats the vendor's error",
    async ({ provider, wire, base, ...rest }) => {
      await using vendor = await ScriptedServer.open();
      const model = { provider, name: 'm-1', apiKey: API_KEY, baseUrl: `${vendor.url}${base}`, ...rest };
      const fallbacks = [{ provider: 'offline' }];
      const home = await makeHome(JSON.stringify({ server: { port: 0 }, model: { ...model, fallbacks } }));
      const ask = async (reply: Reply): Promise<string> => {
        vendor.willReply(reply);
        const { code, stdout } = await langoHere(['doctor', '--model'], home);
        expect(stdout).toContain('ok    model.fallbacks[0]: offline answered: ');
        return `${code} ${/^\w+ +model: .*/m.exec(stdout)?.[0]}`;
      };
      const refusal = (type: string, message: string) => ({
        type: 'error',
        error: { type, code: type, message },
      });
      const right = await ask(events(wire.answer({ texts: ['I am here.'], stop: 'end' })));
      const unknown = await ask(status(404, refusal('not_found_error', 'no model m-1 here')));
      const key = await ask(status(401, refusal('authentication_error', 'invalid key')));
      const quota = await ask(status(429, refusal('insufficient_quota', 'check your billing details')));
      await home.remove();
      expect(right).toBe(`0 ok    model: ${provider}/m-1 answered: I am here.`);
      expect(unknown).toMatch(/^1 fail {2}model: .*does not know the model "m-1".*no model m-1 here/);
      expect(key).toMatch(/^1 fail {2}model: .*refuses the API key \(HTTP 401\).*invalid key/);
      expect(quota).toMatch(/^1 fail {2}model: .*no credit left.*\(HTTP 429\).*check your billing details/);
      expect(vendor.requests).toHaveLength(4);
    },
  );
});
