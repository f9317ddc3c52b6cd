import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn, spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { CAPABILITIES } from '../../src/capabilities/index.js';
import { StandingApprovals } from '../../src/cli/conversation.js';
import { RICH, RICH_KEYS } from '../chain/local-chain.js';
import { langoHere } from './lango-here.js';
import type { Home, Result, Server } from './lango-process.js';
import { mainFile, cleanEnv, ended, makeHome, startServer } from './lango-process.js';

const hasScript = spawnSync('script', ['--version']).status === 0;
const describeOnTerminal = hasScript ? describe : describe.skip;

/** Keys to type once a text was seen. */
interface Typing {
  readonly after: string;
  readonly keys: string;
}

/** The keys from "No", where the selection begins, down to "Yes". */
const SAY_YES = '\u001b[B\r';
const SAY_ALWAYS = '\u001b[B\u001b[B\r';

describe('an approval of further calls', () => {
  it('covers its tool and agent only, and no secret, payment or other kind of question', () => {
    const asked = { hash: 'h', kind: 'approval', text: '', author: 'operator', tool: 'exec' } as const;
    const own = { ...CAPABILITIES[0]!, name: 'bookmarks', decidedSingly: /^bookmark_/ };
    const standing = new StandingApprovals([...CAPABILITIES, own]);
    standing.add(asked);
    const covered = (changes: object): boolean => standing.covers({ ...asked, ...changes });
    expect(covered({ arguments: { command: 'ls' } })).toBe(true);
    const others = [
      { author: 'far/operator' },
      { tool: 'fs_delete' },
      { kind: 'outcome-unknown' },
      { arguments: { env: { KEY: '{{secret:key}}' } } },
    ];
    for (const other of others) expect(covered(other)).toBe(false);
    for (const tool of ['payment_send', 'secrets_delete', 'crypto_sign', 'bookmark_save']) {
      standing.add({ ...asked, tool });
      expect(covered({ tool })).toBe(false);
    }
  });
});

// Skipped without util-linux: its `script` gives the program a real terminal.
describeOnTerminal('the program on a terminal', () => {
  let home: Home;
  let server: Server;

  beforeAll(async () => {
    home = await makeHome('tools: { exec: { sandbox: "off" } }\n');
    server = await startServer(home);
  });

  afterAll(async () => {
    await server.stop();
    await home.remove();
  });

  async function onTerminal(
    args: readonly string[],
    typing: readonly Typing[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<Result> {
    const words = [process.execPath, mainFile(), ...args].map((word) => `'${word}'`).join(' ');
    const child = spawn('script', ['-qec', `stty cols 100 rows 40; exec ${words}`, '/dev/null'], {
      env: cleanEnv({ ...server.env, TERM: 'xterm-256color', SHELL: '/bin/sh', ...env }),
    });
    const waiting = [...typing];
    let seen = '';
    child.stdout.on('data', (chunk: Buffer) => {
      seen += chunk.toString('utf8');
      for (let at; waiting[0] && (at = seen.indexOf(waiting[0].after)) >= 0;) {
        const { after, keys } = waiting.shift()!;
        // An awaited text without keys may arrive in one chunk with the next awaited text.
        seen = keys === '' ? seen.slice(at + after.length) : '';
        child.stdin.write(keys);
      }
    });
    return ended(child);
  }

  it('prints every step in color', async () => {
    const { code, stdout } = await onTerminal(['send', 'write "t" into t.txt'], []);
    expect(code).toBe(0);
    expect(stdout).toContain('\u001b[36moperator');
    expect(stdout).toContain('fs_write');
  });

  it('asks line by line for the reply to an MCP server until it fits', async () => {
    const script = path.resolve('test/support/mcp-server.ts');
    const notes = { command: process.execPath, args: ['--no-warnings', script], sandbox: false };
    const asking = await makeHome(JSON.stringify({ mcp: { servers: { notes } } }));
    const lines = (...all: string[]) => all.map((line) => ({ after: '> ', keys: `${line}\r` }));
    const { code, stdout } = await onTerminal(
      ['mcp', 'try', 'notes', 'book'],
      [
        ...lines('seat: aisle', 'count: 12', 'name: Ann', ''),
        ...lines('seat: aisle', 'count: 2', 'name: Ann', ''),
      ],
      { LANGO_HOME: asking.folder },
    );
    await asking.remove();
    expect(stdout).toContain('"content":{"seat":"aisle","count":2,"meat":false,"name":"Ann"');
    expect(code).toBe(0);
  });

  it('leaves colors out when NO_COLOR is set', async () => {
    const { stdout } = await onTerminal(['send', 'hello'], [], { NO_COLOR: '1' });
    expect(stdout).not.toContain('\u001b[36m');
    expect(stdout).toContain('Hello');
  });

  it('asks for an approval, and continues with the reply', async () => {
    const { code, stdout } = await onTerminal(
      ['send', 'run echo on-the-terminal'],
      [{ after: 'Decide later', keys: SAY_YES }],
    );
    expect(code).toBe(0);
    expect(stdout).toContain('"command": "echo on-the-terminal"');
    expect(stdout).toContain('stdout: on-the-terminal');
  });

  it('counts only a selected "Yes" as an approval', async () => {
    const { stdout } = await onTerminal(
      ['send', 'run echo on-the-terminal'],
      [{ after: 'Decide later', keys: 'y\r' }],
    );
    expect(stdout).not.toContain('stdout: on-the-terminal');
    expect(stdout).toContain('a person refused this call');
  });

  it('rings the bell, and its list wraps around from "No" without reaching "Yes"', async () => {
    const { code, stdout } = await onTerminal(
      ['send', 'run echo around'],
      [{ after: 'Decide later', keys: '\u001b[A\r' }],
    );
    expect(code).toBe(4);
    expect(stdout.split('\u0007')[1]).toContain('Allow this call');
    expect(stdout).not.toContain('stdout: around');
  });

  it('allows the further calls of one tool by one agent, until the conversation ends', async () => {
    const { stdout } = await onTerminal(
      ['chat'],
      [
        { after: '› ', keys: 'run echo once\r' },
        { after: 'Decide later', keys: SAY_ALWAYS },
        { after: '› ', keys: 'run echo twice\r' },
        { after: 'stdout: twice', keys: '' },
        { after: '› ', keys: '/new\r' },
        { after: '› ', keys: 'run echo thrice\r' },
        { after: 'Decide later', keys: '\u0003' },
        { after: '› ', keys: '\u0003' },
      ],
    );
    expect(stdout).toContain('every further call of exec by operator in this conversation');
    expect(stdout).toContain('Allowed: exec by operator, as you said.');
    expect(stdout).not.toContain('stdout: thrice');
  });

  it('accepts pasted lines as one message, and short ids', async () => {
    const { stdout } = await onTerminal(
      ['chat'],
      [
        { after: '› ', keys: '\u001b[200~write "one\r\ntw\u0003o" into pasted.txt\u001b[201~\r' },
        { after: '› ', keys: '/tasks\r' },
        { after: '› ', keys: '\u0004' },
      ],
    );
    expect(await readFile(path.join(home.folder, 'workspace/pasted.txt'), 'utf8')).toBe('one\ntwo');
    const [, id] = /^([0-9a-f]{8}) .*pasted.txt/m.exec(stdout)!;
    const got = await langoHere(['tasks', 'get', id!], { env: server.env });
    expect(got).toMatchObject({ code: 0, stdout: expect.stringMatching(`task +[0-9a-f-]{28}${id}`) });
    const all = await langoHere(['tasks', 'get', got.stdout.slice(9, 13)], { env: server.env });
    expect(all).toMatchObject({ code: 2, stderr: expect.stringContaining('Give more characters') });
  });

  it('leaves the question open when the person decides later', async () => {
    const { code, stdout } = await onTerminal(
      ['send', 'run echo later'],
      [{ after: 'Decide later', keys: '\u0003' }],
    );
    expect(code).toBe(4);
    expect(stdout).toContain('--approve');
  });

  it('does not ask with --no-input', async () => {
    const { code, stdout } = await onTerminal(['send', '--no-input', 'run echo x'], []);
    expect(code).toBe(4);
    expect(stdout).not.toContain('Decide later');
  });

  it('asks where a secret may be used, and shows its value nowhere', async () => {
    const { code, stdout } = await onTerminal(
      ['secrets', 'set', 'github'],
      [
        { after: 'The secret github', keys: 'ghp_S3cr3tToken42\r' },
        { after: 'Where may github be used?', keys: ' \u001b[B \r' },
        { after: 'For which hosts?', keys: 'api.example.com\r' },
      ],
    );
    expect(code).toBe(0);
    expect(stdout).toContain('may be used: exec, http to api.example.com');
    expect(stdout).not.toContain('ghp_S3cr3tToken42');
    const { stdout: flagged } = await onTerminal(
      ['secrets', 'set', 'gitlab', '--for', 'exec'],
      [{ after: 'The secret gitlab', keys: 'glp_S3cr3tToken42\r' }],
    );
    expect(flagged).toContain('may be used: exec');
  });

  it('reads a private key without echo', async () => {
    const { code, stdout } = await onTerminal(
      ['wallet', 'import'],
      [{ after: 'The private key', keys: `${RICH_KEYS[0]}\r` }],
    );
    expect(code).toBe(0);
    expect(stdout).toContain(RICH[0]);
    expect(stdout).not.toContain(RICH_KEYS[0].slice(2));
  });

  it('cancels a running chat task at the first Ctrl-C, and leaves at the next prompt', async () => {
    const { code, stdout } = await onTerminal(
      ['chat'],
      [
        { after: '› ', keys: 'run sleep 30\r' },
        { after: 'Decide later', keys: SAY_YES },
        { after: '▸', keys: '\u0003' },
        { after: '› ', keys: '\u0003' },
      ],
    );
    expect(code).toBe(0);
    expect(stdout).toContain('✘ canceled');
  });
});
