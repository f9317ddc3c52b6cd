import { inspectServer, settingsServices, settingsContext, verifyDatabase } from '../app.js';
import type { LoadedConfig } from '../config/load.js';
import type { WithOwner } from '../core/command.js';
import { silentLogger } from '../core/logger.js';
import { RISKS } from '../config/risks.js';
import type { NodeStatus } from '../core/node-status.js';
import { connect, open, loadConfigOf, type Call, type ConnectionFlags } from './connection.js';
import { checkDatabase, checkFolder, checkGrpc, checkPort, checkProxy, checkToken } from './doctor-checks.js';
import { fail, failedBy, ok, warn, type CheckResult } from './doctor-checks.js';
import { describeFamily, describeFinding, tryServer } from './doctor-trial.js';
import { EXIT } from '../terminal/exit.js';
import { isNoServer, readStatus } from './explain.js';
import { runningPort } from '../config/running-server.js';
import { OLDEST_NODE } from '../config/supported-node.js';
import { withOwner } from './owner-client.js';
import type { Diagnosis } from '../core/capability.js';
import { safeLine } from '../terminal/safe-text.js';
import type { Report, Terminal } from '../terminal/terminal.js';

type DoctorFlags = Readonly<{ model?: boolean; database?: boolean; json?: boolean }>;
type DoctorCall = Call<ConnectionFlags & DoctorFlags>;

/** `lango doctor`: checks everything that the server needs, and changes nothing. */
export async function doctor(call: DoctorCall): Promise<Report> {
  const { flags, terminal } = call;
  const findings: CheckResult[] = [];
  terminal.progress.start('looking');
  for await (const finding of examine(call)) {
    findings.push(finding);
    if (!flags.json) print(finding, terminal);
  }
  terminal.progress.stop();
  const isWell = findings.every(({ status }) => status !== 'fail');
  return { json: { ok: isWell, findings }, lines: [], exitCode: isWell ? EXIT.ok : EXIT.failure };
}

async function* examine(call: DoctorCall): AsyncGenerator<CheckResult> {
  const { flags } = call;
  yield ok('node', `${process.versions.node} (${OLDEST_NODE} or newer is needed)`);
  let loaded: LoadedConfig;
  try {
    loaded = await loadConfigOf(call, 'serve');
  } catch (error) {
    yield failedBy('configuration', error);
    return;
  }
  const { config } = loaded;
  yield ok('configuration', config.file ?? 'no file, all defaults');
  for (const risk of config.server.allowRisks)
    yield warn('risk', `${RISKS[risk]} (server.allowRisks: ${risk})`);
  if (flags.database) {
    yield* loaded.secrets.databaseUrl === undefined
      ? readDatabase(config.storage.sqlite.file)
      : [await checkServer(loaded)];
    return;
  }
  yield await checkFolder('data folder', config.home);
  for (const folder of config.workspace) yield await checkFolder('workspace', folder);
  yield await checkToken(loaded);
  yield await checkProxy(loaded.settings);

  const { finding, status } = await findServer(call, loaded);
  yield finding;
  yield await checkGrpc(config, status !== undefined);
  const tried = await tryServer(loaded, flags.model ?? false);
  if (loaded.secrets.databaseUrl !== undefined) yield await checkServer(loaded);
  else
    yield status
      ? ok('database', `${config.storage.sqlite.file} is in use by the running server`)
      : await checkDatabase(config);
  const diagnoses = await diagnoseCapabilities(loaded, call);
  const replaced = new Set(diagnoses.map(({ replaces }) => `tools ${replaces}`));
  yield* tried.filter(({ check }) => !replaced.has(check));
  if (status) yield* warningsThere(status, tried);
  if (status?.taskUse) yield checkTaskUse(status.taskUse);
  yield* diagnoses.map(describeFinding);
  yield await checkAdvertised(loaded, status);
}

/** Lets each capability check what it needs here. */
async function diagnoseCapabilities(loaded: LoadedConfig, call: DoctorCall): Promise<readonly Diagnosis[]> {
  const services = settingsServices(loaded, silentLogger);
  const diagnoses = loaded.schema.capabilities.map(async (one): Promise<readonly Diagnosis[]> => {
    const context = settingsContext(one, { ...loaded, services, logger: silentLogger });
    try {
      const here: WithOwner = (table, use) => withOwner(table, call, use);
      return (await one.diagnose?.({ ...context, withOwner: here })) ?? [];
    } catch (error) {
      const { text, advice: hint } = failedBy(one.name, error);
      return [{ subject: one.name, state: 'fail', text, hint }];
    }
  });
  return (await Promise.all(diagnoses)).flat();
}

/** Asks the PostgreSQL server of `storage.url`. */
async function checkServer(loaded: LoadedConfig): Promise<CheckResult> {
  const check = 'database';
  try {
    const { text, problem } = await inspectServer(loaded);
    return problem ? fail(check, `${text}. ${problem}`, 'Correct storage.url.') : ok(check, text);
  } catch (error) {
    return failedBy(check, error);
  }
}

/** Reads the whole database. */
function readDatabase(file: string): readonly CheckResult[] {
  const check = 'database';
  if (file === ':memory:') return [ok(check, 'in memory')];
  try {
    const { tasks, events, problems } = verifyDatabase(file);
    if (problems.length === 0)
      return [ok(check, `${file}: ${tasks} tasks with ${events} entries, no damage found`)];
    return problems.map((text) => fail(check, text, 'Restore a backup: lango restore FILE'));
  } catch (error) {
    return [failedBy(check, error)];
  }
}

/** `status`: the report of the running server with this configuration; undefined when no server runs. */
async function findServer(call: DoctorCall, { config }: LoadedConfig) {
  const isNamed = (call.flags.url ?? call.env.url) !== undefined;
  if (!isNamed && config.server.port === 0 && (await runningPort(config.home)) === undefined)
    return { finding: ok('server', 'takes a free port at each start') };
  try {
    const connection = await connect(call);
    const status = await readStatus(connection);
    if (status) return { finding: ok('server', `one runs at ${connection.url}`), status };
    const text = `Something that is not Lango responds at ${connection.url}.`;
    return { finding: fail('server', text, 'Choose another port with server.port.') };
  } catch (error) {
    return { finding: isNoServer(error) && !isNamed ? await checkPort(config) : failedBy('server', error) };
  }
}

/** Compares what the tasks of the caller take in the database with the limit. */
function checkTaskUse({ bytes, limit }: NonNullable<NodeStatus['taskUse']>): CheckResult {
  const text = `yours take ${inMegabytes(bytes)} of ${inMegabytes(limit)} MB in the database (disk.tasksMb)`;
  if (bytes < NEARLY_FULL * limit) return ok('tasks', text);
  return warn('tasks', text, 'Delete tasks that are not needed any more: lango data forget context ID');
}

const NEARLY_FULL = 0.9;
const inMegabytes = (bytes: number): string => (bytes / 1024 / 1024).toFixed(1);

/** The warnings of the running server that the trial does not have, such as a vault that cannot be opened. */
function warningsThere({ families, findings, peers }: NodeStatus, tried: readonly CheckResult[]) {
  const known = tried.filter(({ status }) => status === 'warn').map(({ check }) => check);
  // The trial calls no agent, so it does not see which ones refuse calls.
  const refusing = peers
    .filter(({ kind, state }) => kind === 'remote' && (state === 'degraded' || state === 'open'))
    .map(({ name, state, reason = '', hint }) => warn(`agent ${name}`, `${state}: ${reason}`, hint));
  return [...families.map(describeFamily), ...findings.map(describeFinding), ...refusing]
    .filter(({ status, check }) => status === 'warn' && !known.includes(check))
    .map((finding) => ({ ...finding, text: `in the running server ${finding.text}` }));
}

/** Checks that the address on the cards leads back to this server. */
async function checkAdvertised({ config, secrets }: LoadedConfig, status: NodeStatus | undefined) {
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
    const advice = 'Correct a2a.baseUrl, or the proxy between it and the server.';
    return fail(check, `${baseUrl}: ${text}`, advice);
  }
}

function print({ check, status, text, advice }: CheckResult, { paint, print: say, typed }: Terminal): void {
  const marks = { ok: paint.green('ok  '), warn: paint.yellow('warn'), fail: paint.red('fail') };
  say(`${marks[status]}  ${paint.bold(safeLine(check))}: ${safeLine(text)}`);
  if (advice !== undefined) say(`      ${paint.dim(safeLine(typed(advice)))}`);
}
