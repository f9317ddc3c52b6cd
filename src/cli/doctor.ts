import type { LoadedConfig } from '../config/load.js';
import { loadConfig } from '../config/load.js';
import { loadToken } from '../config/node-credentials.js';
import type { NodeStatus } from '../owners/operations.js';
import type { Connection, ConnectionFlags } from './connection.js';
import { connect, open, overridesOf } from './connection.js';
import type { Finding } from './doctor-checks.js';
import {
  checkDatabase,
  checkFolder,
  checkGrpc,
  checkPort,
  checkVaultKey,
  fail,
  failedBy,
  ok,
  warn,
} from './doctor-checks.js';
import type { Trial } from './doctor-trial.js';
import { describeFamily, describeFinding, tryServer } from './doctor-trial.js';
import { EXIT } from './exit.js';
import { isNoServer, readStatus } from './explain.js';
import { OLDEST_NODE } from './node-runtime.js';
import { createPaint } from './render.js';
import { jsonLine, safeLine } from './safe-text.js';
import type { CommandContext, Terminal } from './terminal.js';

export interface DoctorFlags extends ConnectionFlags {
  readonly model?: boolean;
  readonly json?: boolean;
}

/** `lango doctor`: checks everything that the server needs, and changes nothing. */
export async function doctor(flags: DoctorFlags, context: CommandContext): Promise<number> {
  const { terminal } = context;
  const findings: Finding[] = [];
  terminal.progress.start('looking');
  for await (const finding of examine(flags, context)) {
    findings.push(finding);
    if (!flags.json) print(finding, terminal);
  }
  terminal.progress.stop();
  const isWell = findings.every(({ status }) => status !== 'fail');
  if (flags.json) terminal.print(jsonLine({ ok: isWell, findings }));
  return isWell ? EXIT.ok : EXIT.failure;
}

async function* examine(flags: DoctorFlags, { env }: CommandContext): AsyncGenerator<Finding> {
  yield ok('node', `${process.versions.node} (${OLDEST_NODE} or newer is needed)`);
  let loaded: LoadedConfig;
  try {
    loaded = await loadConfig({ env, overrides: overridesOf(flags) });
  } catch (error) {
    yield failedBy('configuration', error);
    return;
  }
  const { config } = loaded;
  yield ok('configuration', config.file ?? 'no file, all defaults');
  yield await checkFolder('data folder', config.home);
  for (const folder of config.workspace) yield await checkFolder('workspace', folder);
  yield await checkToken(loaded);

  const server = await findServer(flags, loaded, { env });
  yield server.finding;
  yield await checkGrpc(config, server.status !== undefined);
  const trial = await tryServer(loaded, flags.model ?? false);
  yield server.status
    ? ok('database', `${config.storage.sqlite.file} is in use by the running server`)
    : await checkDatabase(config, trial.marks);
  yield* trial.findings;
  yield* warningsThere(server, trial);
  yield await checkVaultKey(loaded);
  yield await checkAdvertised(loaded, server);
}

async function checkToken({ config, secrets }: LoadedConfig): Promise<Finding> {
  const { mode } = config.auth;
  if (mode === 'none') return warn('token', 'none is asked for (auth.mode: none)');
  if (mode !== 'token') return ok('token', `none of this node's own (auth.mode: ${mode})`);
  if (secrets.token !== undefined) return ok('token', 'from the configuration or LANGO_TOKEN');
  try {
    const kept = await loadToken(config.home);
    return ok('token', kept === undefined ? 'will be made at the first start' : 'kept in the data folder');
  } catch (error) {
    return failedBy('token', error);
  }
}

interface ServerState {
  readonly finding: Finding;
  /** What the running server with this configuration says about itself; undefined when no server runs. */
  readonly status: NodeStatus | undefined;
}

async function findServer(
  flags: DoctorFlags,
  { config }: LoadedConfig,
  { env }: Pick<CommandContext, 'env'>,
): Promise<ServerState> {
  const isNamed = (flags.url ?? env.url) !== undefined;
  if (!isNamed && config.server.port === 0) {
    return { finding: ok('server', 'takes a free port at each start'), status: undefined };
  }
  let connection: Connection | undefined;
  try {
    connection = await connect(flags, env);
    const status = await readStatus(connection);
    if (status) return { finding: ok('server', `one answers at ${connection.url}`), status };
    const text = `Something that is not Lango answers at ${connection.url}.`;
    return { finding: fail('server', text, 'Choose another port with server.port.'), status: undefined };
  } catch (error) {
    const finding = isNoServer(error) && !isNamed ? await checkPort(config) : failedBy('server', error);
    return { finding, status: undefined };
  }
}

/** Warnings of the running server that a fresh one does not have, as with a vault that cannot be opened. */
function warningsThere({ status }: ServerState, { findings }: Trial): readonly Finding[] {
  const there = [
    ...(status?.families ?? []).map(describeFamily),
    ...(status?.findings ?? []).map(describeFinding),
  ];
  const known = findings.filter((finding) => finding.status === 'warn').map(({ check }) => check);
  return there
    .filter((finding) => finding.status === 'warn' && !known.includes(finding.check))
    .map((finding) => ({ ...finding, text: `in the running server ${finding.text}` }));
}

/** Checks that the address on the cards leads back to this server. */
async function checkAdvertised({ config, secrets }: LoadedConfig, { status }: ServerState): Promise<Finding> {
  const check = 'address';
  const { baseUrl } = config.a2a;
  if (baseUrl === undefined) return ok(check, 'cards name the address that the client used (no a2a.baseUrl)');
  if (!status) return warn(check, `${baseUrl} was not tried: the server does not run`);
  try {
    const served = await open(new URL(baseUrl), { token: secrets.token }).client.card();
    if (served['name'] === status.root) return ok(check, `${baseUrl} leads back to this server`);
    return fail(check, `${baseUrl} leads to another agent.`, 'Correct a2a.baseUrl.');
  } catch (error) {
    const { text } = failedBy(check, error);
    return fail(
      check,
      `${baseUrl}: ${text}`,
      'Correct a2a.baseUrl, or what stands between it and the server.',
    );
  }
}

function print({ check, status, text, advice }: Finding, { color, print: say }: Terminal): void {
  const paint = createPaint(color);
  const marks = { ok: paint.green('ok  '), warn: paint.yellow('warn'), fail: paint.red('fail') };
  say(`${marks[status]}  ${paint.bold(safeLine(check))}: ${safeLine(text)}`);
  if (advice !== undefined) say(`      ${paint.dim(safeLine(advice))}`);
}
