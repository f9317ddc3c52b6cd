import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createDriver } from '../../src/storage/postgres/connection.js';
import { serverProblem } from '../../src/storage/postgres/migrations.js';
import { langoHere } from '../cli/lango-here.js';
import { certificate } from '../support/certificates.js';
import { freePort } from '../support/free-port.js';
import { startPostgres } from '../support/postgres.js';

/** Connections to PostgreSQL with TLS, and the words of `lango doctor` when there is none. */

const authority = await certificate('authority');
const other = await certificate('another authority');
const server = await startPostgres(await certificate('database', authority));

let folder: string;
let database: Awaited<ReturnType<NonNullable<typeof server>['database']>>;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'lango-address-'));
  await writeFile(path.join(folder, 'ca.crt'), authority.cert);
  await writeFile(path.join(folder, 'other.crt'), other.cert);
  if (server) database = await server.database();
});
afterAll(async () => {
  await database?.drop();
  await server?.stop();
  await rm(folder, { recursive: true });
});

/** The row of `lango doctor` about the database at this address. */
async function rowFor(address: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const url = address.replaceAll('FOLDER', folder);
  const { stdout } = await langoHere(['doctor', '--database'], {
    env: { LANGO_HOME: folder, LANGO_DATABASE_URL: url, ...env },
  });
  return /(ok|fail) +database: [^]*/.exec(stdout)![0].replaceAll(/\s+/g, ' ');
}

/** The address of the database with another host and further parameters. The certificate names 127.0.0.1. */
function at(
  parameters: string,
  change: Partial<Pick<URL, 'hostname' | 'password' | 'pathname' | 'port'>> = {},
) {
  const url = Object.assign(new URL(database.url), { hostname: '127.0.0.1', ...change });
  return `${url.href}${parameters === '' ? '' : `?${parameters}`}`;
}

(server ? describe : describe.skip)('an address of PostgreSQL', () => {
  it.each([
    ['no sslmode', ''],
    ['disable', 'sslmode=disable'],
    ['require, which checks no certificate', 'sslmode=require'],
    ['prefer, which checks no certificate', 'sslmode=prefer'],
    ['verify-full with the authority', 'sslmode=verify-full&sslrootcert=FOLDER/ca.crt'],
  ])('connects with %s', async (_, parameters) => {
    expect(await rowFor(at(parameters))).toMatch(/^ok database: PostgreSQL \d/);
  });

  it('connects with verify-ca by another name than that of the certificate, and not with verify-full', async () => {
    const to = (mode: string) => at(`sslmode=${mode}&sslrootcert=FOLDER/ca.crt`, { hostname: 'localhost' });
    expect(await rowFor(to('verify-ca'))).toMatch(/^ok /);
    expect(await rowFor(to('verify-full'))).toMatch(
      /cannot be trusted\. .*the name in the certificate\. It was: .*Hostname\/IP does not match/,
    );
  });

  it('checks the authority with require once it has one', async () => {
    expect(await rowFor(at('sslmode=require&sslrootcert=FOLDER/other.crt'))).toContain('cannot be trusted');
    expect(await rowFor(at('sslmode=require&sslrootcert=FOLDER/ca.crt', { hostname: 'localhost' }))).toMatch(
      /^ok /,
    );
  });

  it('gets its authority from storage.caFile, and is then checked in full', async () => {
    const ca = (name: string) => ({ LANGO_DATABASE_CA: path.join(folder, name) });
    expect(await rowFor(at('sslmode=verify-full'), ca('ca.crt'))).toMatch(/^ok /);
    expect(await rowFor(at(''), ca('ca.crt'))).toMatch(/^ok /);
    expect(await rowFor(at(''), ca('other.crt'))).toContain('cannot be trusted');
    expect(await rowFor(at('', { hostname: 'localhost' }), ca('ca.crt'))).toContain('cannot be trusted');
    expect(await rowFor(at(''), ca('gone.crt'))).toMatch(/cannot be read \(ENOENT\).*storage\.caFile/);
  });

  it('is refused with a mode that the driver cannot follow', async () => {
    expect(await rowFor(at('sslmode=allow'))).toMatch(/sslmode=allow is not supported.*verify-full/);
    expect(await rowFor(at('sslmode=verify-ca'))).toMatch(/needs a file of authorities.*storage\.caFile/);
  });

  it.each([
    ['a certificate', () => at('sslmode=verify-full'), /cannot be trusted\. .*unable to verify/],
    [
      'a password',
      () => at('', { password: 'wrong' }),
      /refuses this user or password\. .*It was: password auth/,
    ],
    [
      'no password',
      () => at('', { password: '' }),
      /refuses this user or password\. .*client password must be/,
    ],
    [
      'a database',
      () => at('', { pathname: '/gone' }),
      /does not exist\. .*It was: database "gone" does not exist/,
    ],
    ['a host', () => at('', { hostname: 'database.invalid' }), /cannot be reached.*ENOTFOUND|EAI_AGAIN/],
  ])('has its real fault in doctor: %s', async (_, address, said) => {
    expect(await rowFor(address())).toMatch(said);
  });

  it('has its real fault in doctor: a port where nobody listens', async () => {
    const port = String(await freePort());
    expect(await rowFor(at('', { port }))).toMatch(/cannot be reached.*It was: .*ECONNREFUSED/);
  });

  it('has its real fault in the words of a start too', async () => {
    const { code, stderr } = await langoHere(['migrate', '--schema'], {
      env: { LANGO_HOME: folder, LANGO_DATABASE_URL: at('', { pathname: '/gone' }) },
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /The database of storage.url does not exist\.[^]*It was: database "gone" does not exist/,
    );
  });

  it('lets the server end a statement, also over a connection that a pooler hands out', async () => {
    const driver = await createDriver({
      ...{ connections: 2, statementSeconds: 3, pooling: 'session', url: at('') },
    });
    const single = await driver.connect();
    for (const on of [driver.pool, single])
      expect((await on.query('SHOW statement_timeout')).rows).toEqual([{ statement_timeout: '3s' }]);
    await Promise.all([driver.pool.end(), single.end()]);
  });
});

it('PostgreSQL before version 15 is refused', () => {
  expect(serverProblem('14.19 (Debian 14.19-1)')).toContain('15 or newer is needed');
  expect(serverProblem('15.0')).toBeUndefined();
  expect(serverProblem('19devel')).toBeUndefined();
});
