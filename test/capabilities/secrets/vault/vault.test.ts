import { openSqliteStores, type AllStores } from '../../../../lab/all-stores.js';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import Database from 'better-sqlite3';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../../../src/core/logger.js';
import type { SealedVault } from '../../../../src/capabilities/secrets/vault/vault.js';
import { openVault } from '../../../../src/capabilities/secrets/vault/vault.js';
import { withServer } from '../../../support/server.js';

const ALICE = { tenant: '', owner: 'alice' };
const BOB = { tenant: '', owner: 'bob' };
const PASSPHRASE = 'correct horse battery staple';
const VALUE = 'ghp_A1b2C3d4E5f6G7h8';

let home: string;
let keyFile: string;
const opened: AllStores[] = [];

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'lango-vault-'));
  keyFile = join(home, 'vault.key');
});

afterEach(async () => {
  await closeAll();
  rmSync(home, { recursive: true, force: true });
});

async function closeAll(): Promise<void> {
  for (const storage of opened.splice(0)) await storage.close();
}

/** Opens the vault of the folder as a start does, after closing everything that has it open. */
async function open(passphrase?: string): Promise<SealedVault> {
  await closeAll();
  const storage = openSqliteStores({
    file: join(home, 'lango.db'),
    synchronous: 'normal',
    logger: silentLogger,
  });
  opened.push(storage);
  return openVault({ store: storage.vault, keyFile, passphrase });
}

function secret(name: string, value = VALUE) {
  return { kind: 'secret' as const, name, value: Buffer.from(value), metadata: { places: ['exec'] } };
}

async function read(vault: SealedVault, name: string, scope = ALICE): Promise<string | undefined> {
  const entry = await vault.get(scope, 'secret', name);
  return entry && Buffer.from(entry.value).toString();
}

function change(sql: string, ...values: unknown[]): void {
  const database = new Database(join(home, 'lango.db'));
  database.prepare(sql).run(...values);
  database.close();
}

describe.each([
  ['a key file', undefined],
  ['a passphrase', PASSPHRASE],
])('a vault under %s', (_name, passphrase) => {
  it('returns a stored value, also after a restart, and has none of it on disk in the clear', async () => {
    const vault = await open(passphrase);
    expect(existsSync(keyFile)).toBe(false);
    await vault.put(ALICE, secret('github'));
    await vault.put(BOB, secret('github', 'another value'));
    const again = await open(passphrase);
    expect(await read(again, 'github')).toBe(VALUE);
    expect(await read(again, 'github', BOB)).toBe('another value');
    await closeAll();
    for (const file of ['lango.db', 'lango.db-wal']) {
      if (existsSync(join(home, file))) expect(readFileSync(join(home, file)).includes(VALUE)).toBe(false);
    }
  });

  it('numbers versions, and replaces a value only when asked to', async () => {
    const vault = await open(passphrase);
    expect(await vault.put(ALICE, secret('x'), 0)).toMatchObject({ version: 1 });
    await expect(vault.put(ALICE, secret('x', 'other value'), 0)).rejects.toMatchObject({ code: 'conflict' });
    expect(await read(vault, 'x')).toBe(VALUE);
    expect(await vault.put(ALICE, secret('x', 'newer value'))).toMatchObject({ version: 2 });
    expect(await read(vault, 'x')).toBe('newer value');
    expect(await vault.delete(BOB, 'secret', 'x')).toBe(false);
    expect(await vault.delete(ALICE, 'secret', 'x')).toBe(true);
    expect(await read(vault, 'x')).toBeUndefined();
  });

  it('rotates its master key and continues', async () => {
    const vault = await open(passphrase);
    await vault.put(ALICE, secret('a'));
    await vault.put(BOB, secret('b', 'value of bob'));
    const before = existsSync(keyFile) ? readFileSync(keyFile, 'utf8') : '';
    const next = passphrase && `${passphrase} 2`;
    await vault.rotate(next);
    await vault.put(ALICE, secret('c', 'after rotation'));
    const again = await open(next);
    expect(await read(again, 'a')).toBe(VALUE);
    expect(await read(again, 'b', BOB)).toBe('value of bob');
    expect(await read(again, 'c')).toBe('after rotation');
    if (passphrase) await expect(open(passphrase)).rejects.toThrow('The passphrase of the vault is wrong.');
    else expect(readFileSync(keyFile, 'utf8')).not.toBe(before);
  });
});

describe('a faulty vault', () => {
  it('is not opened with a wrong or missing passphrase, and stays unchanged', async () => {
    await (await open(PASSPHRASE)).put(ALICE, secret('a'));
    await expect(open('not the passphrase')).rejects.toMatchObject({ code: 'unavailable' });
    await expect(open()).rejects.toThrow('none is given');
    expect(existsSync(keyFile)).toBe(false);
    expect(await read(await open(PASSPHRASE), 'a')).toBe(VALUE);
  });

  it('is not opened with a key file that is readable by others, damaged, of another vault or missing, and no key is created', async () => {
    await (await open()).put(ALICE, secret('a'));
    expect(statSync(keyFile).mode & 0o777).toBe(0o600);
    const good = readFileSync(keyFile, 'utf8');
    chmodSync(keyFile, 0o640);
    await expect(open()).rejects.toMatchObject({ hint: `Run: chmod 600 ${keyFile}` });
    chmodSync(keyFile, 0o600);
    const cases: readonly (readonly [string, RegExp])[] = [
      [good.slice(0, 20), /damaged/],
      ['', /damaged/],
      [`lango-vault-key-1:${'A'.repeat(43)}\n`, /another vault/],
    ];
    for (const [text, problem] of cases) {
      writeFileSync(keyFile, text);
      await expect(open()).rejects.toThrow(problem);
      expect(readFileSync(keyFile, 'utf8')).toBe(text);
    }
    rmSync(keyFile);
    await expect(open()).rejects.toThrow('is missing');
    expect(existsSync(keyFile)).toBe(false);
    writeFileSync(keyFile, good, { mode: 0o600 });
    expect(await read(await open(), 'a')).toBe(VALUE);
  });

  it.each<readonly [string, () => void, RegExp]>([
    ['damaged', () => writeFileSync(keyFile, 'x'), /damaged/],
    ['readable by others', () => chmodSync(keyFile, 0o644), /read by other users/],
    ['missing', () => rmSync(keyFile), /missing/],
  ])('makes requests for secrets wait when its key is %s', async (_what, harm, reason) => {
    await (await open()).put(ALICE, secret('a'));
    await closeAll();
    harm();
    await expectRefusal({ keyFile }, reason);
  });

  it('makes requests for secrets wait when its passphrase is wrong', async () => {
    await (await open(PASSPHRASE)).put(ALICE, secret('a'));
    await closeAll();
    await expectRefusal({ keyFile, passphrase: 'not the passphrase' }, /passphrase of the vault is wrong/);
  });

  async function expectRefusal(vault: { keyFile: string; passphrase?: string }, reason: RegExp) {
    const settings = { server: { port: 0 }, vault, tools: { secrets: { enabled: true } } };
    await withServer({ home, settings }, async (server) => {
      const got = await server.fetch('/lango/secrets');
      expect([got.status, await got.text()]).toEqual([503, expect.stringMatching(reason)]);
    });
  }

  it.each([
    ['a byte of a value', "UPDATE vault_entries SET sealed = zeroblob(60) WHERE name = 'a'"],
    ['its metadata', "UPDATE vault_entries SET metadata = '{}' WHERE name = 'a'"],
    ['its version', "UPDATE vault_entries SET version = 7 WHERE name = 'a'"],
    ['its name', "UPDATE vault_entries SET name = 'a2' WHERE name = 'a'"],
    ['its owner', "UPDATE vault_entries SET owner = 'bob' WHERE name = 'a'"],
    ['its kind', "UPDATE vault_entries SET kind = 'wallet' WHERE name = 'a'"],
    [
      'its value, to that of a neighbor',
      "UPDATE vault_entries SET sealed = (SELECT sealed FROM vault_entries WHERE name = 'b') WHERE name = 'a'",
    ],
  ])(
    'is found to be tampered with when %s was changed, and its other entries stay readable',
    async (_what, sql) => {
      const vault = await open();
      for (const name of ['a', 'b']) await vault.put(ALICE, secret(name, `value of ${name}`));
      await vault.put(BOB, secret('c'));
      await closeAll();
      change(sql);
      const again = await open();
      const places = [
        [ALICE, 'secret', 'a'],
        [ALICE, 'secret', 'a2'],
        [BOB, 'secret', 'a'],
        [ALICE, 'wallet', 'a'],
      ] as const;
      const results = await Promise.allSettled(
        places.map(([scope, kind, name]) => again.get(scope, kind, name)),
      );
      expect(results.some(({ status }) => status === 'fulfilled')).toBe(true);
      expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(1);
      expect(results.every((one) => one.status === 'rejected' || one.value === undefined)).toBe(true);
      expect(await read(again, 'b')).toBe('value of b');
    },
  );

  it('opens no entry that was moved to another owner together with its key', async () => {
    await (await open()).put(ALICE, secret('a'));
    await closeAll();
    for (const table of ['vault_keys', 'vault_entries']) change(`UPDATE ${table} SET owner = 'bob'`);
    await expect((await open()).get(BOB, 'secret', 'a')).rejects.toThrow('tampered');
  });

  it('refuses invalid names and sizes, before it creates a key', async () => {
    const vault = await open();
    for (const name of ['', '1a', 'a b', 'ä', 'a'.repeat(65), '../x']) {
      await expect(vault.put(ALICE, secret(name))).rejects.toMatchObject({ code: 'invalid-input' });
    }
    await expect(vault.put(ALICE, secret('a', ''))).rejects.toMatchObject({ code: 'invalid-input' });
    await expect(vault.put(ALICE, secret('a', 'x'.repeat(70_000)))).rejects.toMatchObject({
      code: 'invalid-input',
    });
    expect(await vault.list(ALICE, 'secret')).toEqual([]);
    expect(existsSync(keyFile)).toBe(false);
  });
});

describe('an interrupted rotation', () => {
  it('leaves everything under the old key when it stops in the transaction', async () => {
    const vault = await open();
    await vault.put(ALICE, secret('a'));
    await vault.put(BOB, secret('b'));
    const database = new Database(join(home, 'lango.db'));
    database.exec(
      `CREATE TRIGGER cut BEFORE UPDATE ON vault_keys WHEN OLD.owner = 'bob' BEGIN SELECT RAISE(ABORT, 'cut off'); END`,
    );
    await expect(vault.rotate()).rejects.toMatchObject({ code: 'storage' });
    database.exec('DROP TRIGGER cut');
    database.close();
    const again = await open();
    expect(await read(again, 'a')).toBe(VALUE);
    expect(await read(again, 'b', BOB)).toBe(VALUE);
    await again.rotate();
    expect(await read(await open(), 'b', BOB)).toBe(VALUE);
  });

  it('leaves an unused next key when it stops before the transaction', async () => {
    await (await open()).put(ALICE, secret('a'));
    writeFileSync(`${keyFile}.next`, `lango-vault-key-1:${'B'.repeat(43)}\n`, { mode: 0o600 });
    const again = await open();
    expect(await read(again, 'a')).toBe(VALUE);
    await again.rotate();
    expect(await read(await open(), 'a')).toBe(VALUE);
  });

  it('is completed at the next start when it stops after the transaction', async () => {
    const vault = await open();
    await vault.put(ALICE, secret('a'));
    const old = join(home, 'old.key');
    copyFileSync(keyFile, old);
    await vault.rotate();
    // Restores the files to the moment before the new key file replaced the old one.
    copyFileSync(keyFile, `${keyFile}.next`);
    copyFileSync(old, keyFile);
    expect(await read(await open(), 'a')).toBe(VALUE);
    expect(existsSync(`${keyFile}.next`)).toBe(false);
    expect(await read(await open(), 'a')).toBe(VALUE);
  });
});
