import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp, createModel, type AppAddress } from '../app.js';
import { groupsOf, withGroups } from '../config/config.js';
import type { LoadedConfig } from '../config/load.js';
import { choicesIn } from '../config/models.js';
import { trialConfig } from '../config/trial.js';
import { silentLogger, type Logger, type LogFields } from '../core/logger.js';
import { textPart } from '../core/message.js';
import { answerText, type ModelProvider } from '../core/model.js';
import type { Diagnosis } from '../core/capability.js';
import type { NodeStatus } from '../core/node-status.js';
import { open } from './connection.js';
import { fail, failedBy, ok, warn, type CheckResult } from './doctor-checks.js';
import { readStatus } from './explain.js';

/** A request that the offline model understands as well. */
const MODEL_REQUEST = 'Hello';
/** A model that reasons needs most of them before it says anything. */
const MODEL_TOKENS = 1_024;
const MODEL_MS = 60_000;
const OUTPUT_CHARACTERS = 60;

/**
 * Starts a second server with this configuration, on a free loopback port and with an empty database in a temporary folder.
 * Each part is tried as the real server uses it, and no task is touched.
 */
export async function tryServer(loaded: LoadedConfig, asksModel: boolean): Promise<readonly CheckResult[]> {
  const folder = await mkdtemp(join(tmpdir(), 'lango-doctor-'));
  const { logger, warnings } = recordingLogger();
  const trial = await trialConfigOf(loaded, folder);
  const app = createApp({ ...trial, logger });
  let findings: readonly CheckResult[];
  try {
    const address = await app.start();
    const models = async () => (asksModel ? askModels(loaded) : [describeModel(address, loaded)]);
    findings = await lookAround(address, warnings, models);
  } catch (error) {
    findings = [failedBy('start', error)];
  }
  await app.stop();
  await rm(folder, { recursive: true, force: true });
  return findings;
}

async function trialConfigOf(loaded: LoadedConfig, folder: string): Promise<LoadedConfig> {
  const { config, schema } = loaded;
  let { settings } = loaded;
  for (const one of schema.capabilities)
    if (one.trialSettings) settings = withGroups(settings, one.trialSettings(groupsOf(one, settings)));
  const found = await Promise.all(config.workspace.map((each) => stat(each).catch(() => undefined)));
  const workspace = config.workspace.filter((_, index) => found[index]?.isDirectory());
  const trial = trialConfig({ ...loaded, settings }, folder);
  return workspace.length > 0 ? { ...trial, config: { ...trial.config, workspace } } : trial;
}

/** Reads the states of the started server's parts; `models` are the findings about its models. */
async function lookAround(
  address: AppAddress,
  warnings: readonly Warning[],
  models: () => Promise<readonly CheckResult[]>,
): Promise<readonly CheckResult[]> {
  const connection = open(new URL(address.origin), { token: address.token });
  const status = await readStatus(connection);
  const peers = status?.peers ?? [];
  const names = new Set<unknown>(peers.map(({ name }) => name));
  return [
    ok('start', `a server with this configuration starts, with ${address.agents.join(', ')}`),
    // A warning with a code is a finding already, and one about a peer is in the line of that peer.
    ...warnings
      .filter(({ fields }) => fields['code'] === undefined && !names.has(fields['agent']))
      .map(({ text }) => warn('start', text)),
    ...(status?.findings ?? []).map(describeFinding),
    ...(status?.families ?? []).map(describeFamily),
    ...peers.flatMap((peer) => {
      if (peer.kind === 'local') return [];
      const check = `agent ${peer.name}`;
      if (peer.state === 'ready') return [ok(check, `its card at ${peer.url} was read`)];
      return [fail(check, peer.reason ?? 'Its card was not read.', peer.hint)];
    }),
    ...(await models()),
  ];
}

export function describeFinding({ code, subject, state, text, hint }: Diagnosis): CheckResult {
  return { check: subject, code, status: state, text, advice: state === 'ok' ? undefined : hint };
}

export function describeFamily({ name, state, note, hint }: NodeStatus['families'][number]): CheckResult {
  const check = `tools ${name}`;
  const text = note === undefined ? state : `${state}: ${note}`;
  if (state === 'missing') return warn(check, text, hint);
  return ok(check, hint === undefined ? text : `${text} (${hint})`);
}

function describeModel({ model }: AppAddress, { config }: LoadedConfig): CheckResult {
  if (config.model.provider !== 'offline')
    return ok('model', `${model} (${config.model.reason}); not asked (--model sends it a tiny request)`);
  const advice = 'For a real one set ANTHROPIC_API_KEY, OPENAI_API_KEY or model.provider.';
  return warn('model', `offline (${config.model.reason}): a small built-in model of fixed rules`, advice);
}

/** Asks each model of the configuration directly, without its fallbacks. */
async function askModels(loaded: LoadedConfig): Promise<readonly CheckResult[]> {
  const context = { ...loaded, logger: silentLogger };
  const asked = choicesIn(loaded.config).map(async ([check, choice]) =>
    askModel(check, await createModel({ ...choice, fallbacks: [] }, context)),
  );
  return Promise.all(asked);
}

async function askModel(check: string, model: ModelProvider): Promise<CheckResult> {
  const request = {
    ...{ system: [], functions: [], maxTokens: MODEL_TOKENS, signal: AbortSignal.timeout(MODEL_MS) },
    messages: [{ role: 'user' as const, parts: [textPart(MODEL_REQUEST)] }],
  };
  let failure = 'It gave no output.';
  for await (const event of model.stream(request)) {
    if (event.type === 'error') failure = event.message;
    if (event.type !== 'end') continue;
    const text = answerText(event.answer.content);
    if (text.trim() !== '') return ok(check, `${model.id} answered: ${text.slice(0, OUTPUT_CHARACTERS)}`);
  }
  const advice = `Check ${check} in the configuration, its key, and the network.`;
  return fail(check, `${model.id}: ${failure}`, advice);
}

type Warning = Readonly<{ text: string; fields: LogFields }>;

function recordingLogger() {
  const warnings: Warning[] = [];
  const record: Logger['warn'] = (message, fields = {}) => {
    const details = Object.entries(fields).map(([name, value]) => `${name}: ${String(value)}`);
    warnings.push({ text: [message, ...details].join(', '), fields });
  };
  const logger: Logger = { ...silentLogger, warn: record, error: record, child: () => logger };
  return { logger, warnings };
}
