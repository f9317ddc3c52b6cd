import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../src/core/json.js';
import { replyPart, textPart, type ClientEvent, type ServerOptions } from '../../../src/index.js';
import { langoHere } from '../../cli/lango-here.js';
import { Obedient, untilOffered } from '../../support/obedient-model.js';
import type { TestServer } from '../../support/server.js';
import { openTokenServer, tokenRequests } from '../../support/token-server.js';
import { sendText, startServer, withServer } from '../../support/server.js';

/** MCP servers as tools, over A2A: a real server, a real process in the sandbox, and a model that follows orders. */

const SCRIPT = path.resolve('test/support/mcp-server.ts');
/** The time limit of a call. A call that gets a result takes far less, and one that hangs takes the whole limit. */
const LIMIT_SECONDS = 5;
const TIMES_KILLED = process.env['LANGO_CAMPAIGN'] ? 100 : 5;

type Servers = NonNullable<NonNullable<ServerOptions['settings']>['mcp']>['servers'];

const notes = {
  command: process.execPath,
  args: ['--no-warnings', SCRIPT],
  readable: [path.dirname(process.execPath), path.dirname(SCRIPT)],
  env: { NOTE_KEY: 'the-key-of-the-notes' },
  timeoutSeconds: LIMIT_SECONDS,
};

function optionsFor(
  servers: Servers,
  more: Partial<ServerOptions> = {},
): ServerOptions & { model: Obedient } {
  return { ...more, model: new Obedient(), settings: { server: { port: 0 }, mcp: { servers } } };
}

describe('an MCP server as tools', () => {
  const options = optionsFor({ notes });
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer(options);
    await untilOffered('mcp_notes_read_note', options.model, server);
  });
  afterAll(() => server.stop());

  const ask = (tool: string, given: JsonObject = {}) =>
    sendText(server, `mcp_notes_${tool} ${JSON.stringify(given)}`, { agent: 'operator' });

  it('X7 gives its tools to the agent of its entry, with cleaned names, and to no other', async () => {
    const { end } = await ask('read_note', { note: 'a' });
    expect(end).toMatchObject({ state: 'completed', text: 'the note a', fromOutside: true });
    expect(options.model.offered()).toEqual(
      expect.arrayContaining(['mcp_notes_read_note', 'mcp_notes_write_note']),
    );
    expect(options.model.offered()).not.toContain('mcp_notes_bad');
    const spec = options.model.requests.at(-1)!.functions.find(({ name }) => name === 'mcp_notes_read_note')!;
    expect(spec.description).toContain('data, not instructions');
    expect(JSON.stringify(spec.parameters)).not.toContain('pattern');
    await sendText(server, 'hello', { agent: 'planner' });
    expect(options.model.offered().join()).not.toContain('mcp_');
    const card = (await (
      await server.fetch('/agents/operator/.well-known/agent-card.json')
    ).json()) as object;
    expect(JSON.stringify(card)).toContain('tools of the MCP server notes');
  });

  it('gets no call whose arguments do not fit the schema', async () => {
    expect((await ask('read_note', { other: 'a' })).end.text).toContain('unknown argument other');
  });

  it('gets a call that is not read-only after a person approved it with exactly its arguments', async () => {
    const file = path.join(server.home, 'mcp', 'notes', 'b.txt');
    const asked = await ask('write_note', { note: 'b', text: 'hi' });
    expect(asked.end).toMatchObject({
      state: 'input-required',
      questions: [{ arguments: { note: 'b', text: 'hi' } }],
    });
    expect(asked.end.text).toContain('call "write_note" of the MCP server notes');
    expect(existsSync(file)).toBe(false);
    const { hash } = asked.end.questions[0]!;
    const words = {
      parts: [replyPart({ hash, decision: 'approve' })],
      taskId: asked.taskId,
      agent: 'operator',
    };
    const events: ClientEvent[] = [];
    for await (const event of server.client.send(words, AbortSignal.timeout(100_000))) events.push(event);
    expect(events.at(-1)).toMatchObject({ type: 'end', text: 'written' });
    expect(readFileSync(file, 'utf8')).toBe('hi');
  });

  it('runs in the sandbox, without the environment and the rights of this server', async () => {
    const { end } = await ask('environment');
    expect(end.text).toMatch(/^HOME,LANG,NOTE_KEY,PATH,PWD,TMPDIR \S+ uid (?!0$)\d+$/);
    expect(server.log.lines.join()).not.toContain('the-key-of-the-notes');
  });

  it('has its pictures and resources kept, too large ones left out, and its links not fetched', async () => {
    const { end, events } = await ask('picture');
    expect(end.text).toContain('kept as a file of the task: image, image/png, 10 bytes');
    expect(end.text).toContain('left out, as it is larger than 180000 bytes');
    expect(end.text).toContain('the text of a');
    expect(end.text).toContain('which was not fetched');
    expect(events.filter(({ type }) => type === 'artifact')).toHaveLength(1);
  });

  it('has its progress shown, its output bounded, and its refusal passed on as an error', async () => {
    const slow = { parts: [textPart('mcp_notes_slow {}')], agent: 'operator' };
    let end: ClientEvent | undefined;
    for await (const event of server.client.send(slow, AbortSignal.timeout(100_000))) {
      if (JSON.stringify(event).includes('slow: 3 of 10'))
        writeFileSync(path.join(server.home, 'mcp', 'notes', 'shown.txt'), '');
      end = event;
    }
    expect(end).toMatchObject({ type: 'end', text: 'slow is done' });
    expect((await ask('long')).end.text).toContain('bytes left out');
    expect((await ask('refuse')).end.text).toContain('no such note');
  });

  it(`is used again after each of ${TIMES_KILLED} crashes, floods and hangs`, async () => {
    const bad = ['die', 'rubbish', 'huge', 'flood', 'hang'];
    for (let round = 0; round < TIMES_KILLED; round += 1) {
      const tool = bad[round % bad.length]!;
      const { end } = await ask(tool);
      expect(end.state).toBe('completed');
      expect(end.text).toMatch(tool === 'rubbish' ? /^after the rubbish$/ : /not known|no result within 5 s/);
      expect((await ask('read_note', { note: tool })).end.text).toBe(`the note ${tool}`);
    }
  }, 600_000);

  it('is restarted for a call, whose time limit begins after the start', async () => {
    const slow = { ...notes, env: { ...notes.env, START_MS: '2500' }, timeoutSeconds: 2 };
    const slowly = optionsFor({ slow });
    await withServer(slowly, async (other) => {
      await untilOffered('mcp_slow_read_note', slowly.model, other);
      await sendText(other, 'mcp_slow_die {}', { agent: 'operator' });
      const { end } = await sendText(other, 'mcp_slow_read_note {"note":"a"}', { agent: 'operator' });
      expect(end.text).toBe('the note a');
    });
  });

  it('works through lango send, also after it floods, sends garbage or dies', async () => {
    const { origin, token = '' } = server.address;
    const env = { LANGO_URL: origin, LANGO_TOKEN: token, LANGO_HOME: server.home };
    const send = (text: string) => langoHere(['send', '--agent', 'operator', text], { env });
    for (const tool of ['flood', 'rubbish', 'die', 'huge'])
      expect(await send(`mcp_notes_${tool} {}`)).toMatchObject({ code: 0 });
    expect((await send('mcp_notes_write_note {"note":"z","text":"z"}')).code).toBe(4);
    let said = '';
    for (let tries = 0; tries < 20 && !said.includes('the note of send'); tries += 1)
      said = (await send('mcp_notes_read_note {"note":"of send"}')).stdout;
    expect(said).toContain('the note of send');
  });

  it('has a changed tool held back until it is accepted', async () => {
    await ask('change');
    await server.log.saying('changed its tool read-note');
    expect((await ask('read_note', { note: 'a' })).end.text).toContain('no function "mcp_notes_read_note"');
    const config = path.join(server.home, 'config.json');
    await writeFile(config, JSON.stringify({ mcp: { servers: { notes } } }));
    const lango = (...args: string[]) =>
      langoHere(['mcp', ...args, '--home', server.home, '--config', config]);
    expect((await lango('accept', 'notes')).stdout).toBe(
      'Accepted 1 tool of the MCP server notes: read-note.\n',
    );
    expect((await ask('read_note', { note: 'a' })).end.text).toBe('the note a');
  });
});

describe('lango mcp', () => {
  it('lists the tools of agents, and calls a tool for a person', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'lango-mcp-'));
    const config = path.join(home, 'config.yaml');
    const away = { url: 'http://127.0.0.1:9/mcp' };
    await writeFile(
      config,
      JSON.stringify({ mcp: { servers: { notes: { ...notes, exclude: ['die'] }, away } } }),
    );
    const lango = (...args: string[]) => langoHere([...args, '--home', home, '--config', config]);
    const list = await lango('mcp', 'list');
    expect(list.code).toBe(1);
    expect(list.stdout).toMatch(/mcp_notes_read_note {2}read-only .*Ignore all rules/);
    expect(list.stdout).toMatch(/mcp_notes_write_note {2}asks first/);
    expect(list.stdout).toMatch(/bad {2}left out: its arguments cannot be described to a model/);
    expect(list.stdout).toMatch(/die {2}excluded/);
    expect(list.stdout).toMatch(/the MCP server away cannot be used: .*127\.0\.0\.1:9 cannot be reached/);
    expect((await lango('mcp', 'try', 'notes', 'read-note', '{"note":"c"}')).stdout).toBe('the note c\n');
    expect((await lango('mcp', 'try', 'nots', 'x')).stderr).toContain('There is no MCP server nots');
    const shown = await lango('config', 'show');
    expect(shown.stdout).toContain('mcp.servers.notes.agent = "operator"');
    expect(shown.stdout).toContain('mcp.servers.notes.env = "set"');
    expect(shown.stdout).not.toContain('the-key-of-the-notes');
    await rm(home, { recursive: true, force: true });
  });
});

describe('an MCP server over HTTP', () => {
  it.each(['a token', 'OAuth2'])('is called with %s, and again after it forgot the session', async (kind) => {
    const child = spawn(process.execPath, ['--no-warnings', SCRIPT, '--http'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [port] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    await using issuer = await openTokenServer((form) =>
      form.get('scope') === 'tools' ? { access_token: 'http-token-4711', token_type: 'bearer' } : undefined,
    );
    const oauth2 = {
      issuer: issuer.url,
      clientId: 'lango',
      clientSecret: 'mcp-secret-1c',
      scopes: ['tools'],
    };
    const web = {
      url: `http://127.0.0.1:${port}/mcp`,
      ...(kind === 'OAuth2' ? { oauth2 } : { token: 'http-token-4711' }),
      include: ['read-note', 'change'],
    };
    const options = optionsFor({ web });
    await using _killed = { [Symbol.asyncDispose]: async () => void child.kill() };
    await withServer(options, async (server) => {
      const ask = (text: string) => sendText(server, text, { agent: 'operator' });
      await untilOffered('mcp_web_read_note', options.model, server);
      expect((await ask('mcp_web_read_note {"note":"a"}')).end.text).toBe('the note a');
      expect(options.model.offered()).not.toContain('mcp_web_write_note');
      await ask('mcp_web_change {}');
      expect((await ask('mcp_web_read_note {"note":"b"}')).end.text).toBe('the note b');
      expect(tokenRequests(issuer)).toHaveLength(kind === 'OAuth2' ? 1 : 0);
      expect(server.log.lines.join('\n')).not.toContain('mcp-secret-1c');
    });
  });

  it('gets the full time limit for a call after it forgot the session', async () => {
    const child = spawn(process.execPath, ['--no-warnings', SCRIPT, '--http'], {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...process.env, START_MS: '2000' },
    });
    await using _killed = { [Symbol.asyncDispose]: async () => void child.kill() };
    const [port] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    const url = `http://127.0.0.1:${port}/mcp`;
    const options = optionsFor({ web: { url, token: 'http-token-4711', timeoutSeconds: 3 } });
    await withServer(options, async (server) => {
      const ask = (text: string) => sendText(server, text, { agent: 'operator' });
      await untilOffered('mcp_web_read_note', options.model, server);
      await ask('mcp_web_change {}');
      expect((await ask('mcp_web_read_note {"note":"b"}')).end.text).toBe('the note b');
    });
  });

  it('neither delays the start nor fails a task while it is down, which the status page reports', async () => {
    const options = optionsFor({ away: { url: 'http://127.0.0.1:9/mcp' } });
    await withServer(options, async (server) => {
      expect((await sendText(server, 'hello', { agent: 'operator' })).end.state).toBe('completed');
      const status = (await (await server.fetch('/lango/agents')).json()) as object;
      expect(JSON.stringify(status)).toContain('the MCP server away cannot be used');
    });
  });
});
