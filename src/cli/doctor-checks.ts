import { once } from 'node:events';
import { constants, existsSync } from 'node:fs';
import { access, open, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { DATABASE_MARKS } from '../app.js';
import type { Config } from '../config/config.js';
import type { LoadedConfig } from '../config/load.js';
import { loadToken } from '../config/node-credentials.js';
import { folderProblem } from '../disk/private-file.js';
import { errorText, isLangoError } from '../core/errors.js';
import { createProxyChoice, describeProxies, proxiesOf } from '../http/proxy.js';

/** One result of `lango doctor`. */
export interface CheckResult {
  readonly check: string;
  /** The kind of fact, for programs; only findings of the server have one. */
  readonly code?: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly text: string;
  /** The advice for the person, as a sentence. */
  readonly advice?: string | undefined;
}

const resultOf =
  (status: CheckResult['status']) =>
  (check: string, text: string, advice?: string): CheckResult => ({ check, status, text, advice });

export const ok = resultOf('ok');
export const warn = resultOf('warn');
export const fail = resultOf('fail');

export function failedBy(check: string, error: unknown): CheckResult {
  return fail(check, errorText(error), isLangoError(error) ? error.hint : undefined);
}

const FOLDER_ADVICE = 'Let this user write there, or choose another folder with --home or LANGO_HOME.';

/** Checks that the folder can be written or made. */
export async function checkFolder(check: string, folder: string): Promise<CheckResult> {
  const problem = await folderProblem(folder);
  if (problem !== undefined) return fail(check, `${problem}.`, FOLDER_ADVICE);
  const state = existsSync(folder) ? 'can be written' : 'will be made at the first start';
  return ok(check, `${folder} ${state}`);
}

export async function checkToken({ config, secrets }: LoadedConfig): Promise<CheckResult> {
  const check = 'token';
  const { mode } = config.auth;
  if (mode === 'none') return warn(check, 'none is needed (auth.mode: none)');
  if (mode !== 'token') return ok(check, `this node has none of its own (auth.mode: ${mode})`);
  if (secrets.token !== undefined) return ok(check, 'from the configuration or LANGO_TOKEN');
  try {
    const kept = await loadToken(config.home);
    return ok(check, kept === undefined ? 'will be made at the first start' : 'kept in the data folder');
  } catch (error) {
    return failedBy(check, error);
  }
}

/** Checks the file without opening it as a database. */
export async function checkDatabase({ storage }: Config): Promise<CheckResult> {
  const check = 'database';
  const { file } = storage.sqlite;
  if (file === ':memory:') return ok(check, 'in memory: tasks are gone when the server stops');
  if (!existsSync(file)) return ok(check, `${file} will be made at the first start`);
  try {
    await access(file, constants.R_OK | constants.W_OK);
    const marks = await readMarks(file);
    if (!marks)
      return fail(check, `${file} is not a database.`, 'Move it away, or restore it from a backup.');
    // The header lacks what a killed program has not yet written from the log into the file.
    const log = await stat(`${file}-wal`).catch(() => undefined);
    if (log && log.size > 0) return ok(check, `${file}, to be recovered at the next start`);
    if (marks.applicationId !== DATABASE_MARKS.applicationId)
      return fail(check, `${file} is a database of another program.`, 'Choose another data folder.');
    if (marks.schema <= DATABASE_MARKS.schema) return ok(check, file);
    return fail(
      check,
      `${file} was made by a newer version of Lango: schema ${marks.schema} > ${DATABASE_MARKS.schema}.`,
      'Start that version or a later one, or choose another data folder.',
    );
  } catch (error) {
    return fail(check, `${file} cannot be used: ${errorText(error)}.`, FOLDER_ADVICE);
  }
}

/** The first bytes of an SQLite file, and the offsets of two marks in its header (https://sqlite.org/fileformat2.html). */
const SQLITE_MAGIC = 'SQLite format 3\0';
const HEADER_BYTES = 100;
const USER_VERSION_AT = 60;
const APPLICATION_ID_AT = 68;

/** Reads the marks. Resolves with undefined for a file that is not an SQLite database. */
async function readMarks(file: string): Promise<typeof DATABASE_MARKS | undefined> {
  await using handle = await open(file, 'r');
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
  if (bytesRead < HEADER_BYTES || !buffer.toString('latin1').startsWith(SQLITE_MAGIC)) return undefined;
  const [applicationId, schema] = [APPLICATION_ID_AT, USER_VERSION_AT].map((at) => buffer.readUInt32BE(at));
  return { applicationId: applicationId!, schema: schema! };
}

/** Whether the server could listen where it is configured to. */
export async function checkPort({ server: { host, port } }: Config): Promise<CheckResult> {
  const busy = await busyPort(host, port);
  if (busy === undefined) return ok('server', `none is running; port ${port} on ${host} is free`);
  return fail('server', busy, 'Choose another with server.port or --port, or stop the program that uses it.');
}

/** Checks gRPC. The port is tried when no server with this configuration runs. */
export async function checkGrpc({ server: { host, grpc } }: Config, isRunning: boolean) {
  const { enabled, port } = grpc;
  if (!enabled) return ok('grpc', 'off (server.grpc.enabled: true switches it on)');
  const busy = isRunning || port === 0 ? undefined : await busyPort(host, port);
  if (busy === undefined)
    return ok('grpc', `on, on ${port === 0 ? 'a free port' : `port ${port}`} of ${host}`);
  return fail('grpc', busy, 'Choose another with server.grpc.port, or stop the program that uses it.');
}

/** Tries to listen on the port. Resolves with a sentence when that fails, else with undefined. */
async function busyPort(host: string, port: number): Promise<string | undefined> {
  const probe = createServer().listen(port, host);
  try {
    await once(probe, 'listening');
    return undefined;
  } catch (error) {
    return `Port ${port} on ${host} cannot be used: ${errorText(error)}.`;
  } finally {
    probe.close();
  }
}

/** Tells the proxies of outgoing requests, whether this Node sends any through them, and whether each accepts connections. */
export async function checkProxy({ egress }: LoadedConfig['settings']): Promise<CheckResult> {
  const check = 'proxy';
  const text = describeProxies(egress);
  if (text === undefined)
    return ok(check, 'none: requests leave directly (egress.proxy, HTTPS_PROXY, HTTP_PROXY)');
  try {
    createProxyChoice(egress);
  } catch (error) {
    return failedBy(check, error);
  }
  const { connectProblem } = await import('../http/checked-connections.js');
  for (const proxy of proxiesOf(egress)) {
    const problem = await connectProblem(proxy);
    if (problem === undefined) continue;
    const advice =
      'Correct egress.proxy or the variable HTTPS_PROXY or HTTP_PROXY; egress.proxy: direct turns it off.';
    return fail(check, `${text}; ${proxy.host} cannot be reached (${problem}).`, advice);
  }
  return ok(check, text);
}
