import { keyOf, type Finding, type Path } from '../core/findings.js';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { createRequire } from 'node:module';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { codeOf, errorText, LangoError } from '../core/errors.js';
import { AddedAgents, withAddedAgents, type AddedAgent } from './added-agents.js';
import { checkSettings, type Purpose } from './check.js';
import { type Config, configOf } from './config.js';
import { type Env, ENV_VARIABLES } from './env.js';
import { type Origin, type Overrides, isGroup, layer } from './layers.js';
import { NO_SUCH_FILE } from '../disk/private-file.js';
import { type Problem, PROBLEMS_MAX, problemsError, toProblem } from './problems.js';
import { isReadableByAll } from './risks.js';
import { assertForeign, type Capability } from '../core/capability.js';
import { CAPABILITIES } from '../capabilities/index.js';
import { SettingsSchema, schemasAt, type Settings, type SettingsInput } from './schema.js';
import { type Secrets, secretsOf } from './secrets.js';
import { retype, substitute } from './substitute.js';
import type { Source, TextReading } from './text-source.js';

const HINT = 'Correct this, then check it with: lango config check';

export interface LoadedConfig {
  readonly config: Config;
  readonly secrets: Secrets;
  /** The keys of this configuration, and the capabilities that they belong to. */
  readonly schema: SettingsSchema;
  /** All checked settings, for capabilities. They hold secrets: never log them. */
  readonly settings: Settings;
  /** By key. A key that is not in it has its default. */
  readonly origins: ReadonlyMap<string, Origin>;
  /** The agents that were added with `lango agents add`. `config` has them too. */
  readonly added?: readonly AddedAgent[];
}

export interface LoadOptions {
  readonly env: Env;
  readonly overrides?: Overrides;
  /** The purpose of the reading, which determines the keys and secrets that must be set. Default: `serve`. */
  readonly purpose?: Purpose;
  /** Replaces the agents that were added with `lango agents add`. Default: those of the data folder. */
  readonly added?: readonly AddedAgent[] | undefined;
}

interface ResolveOptions extends LoadOptions {
  /** Used instead of a file. */
  readonly settings?: SettingsInput;
  /** Capabilities of the program, besides the shipped ones. */
  readonly capabilities?: readonly Capability[] | undefined;
}

/** Reads the configuration file, if there is one, and resolves it. Throws `invalid-config` that lists all problems. */
export async function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  return orThrow(await inTurns(resolveSteps(await readSource(options), options)));
}

/** Returns the problems that `loadConfig` would report, in the order of the file; if there are none, those that `further` finds. */
export async function checkConfig(
  options: LoadOptions,
  further: (loaded: LoadedConfig) => Promise<readonly Finding[]> = async () => [],
): Promise<readonly Problem[]> {
  const reading = await readSource(options);
  const { loaded, problems } = await inTurns(resolveSteps(reading, options));
  if (!loaded) return problems;
  const findings = await further(loaded);
  return findings.map((one) => toProblem(one, reading.source)).sort(byLocation);
}

/** Resolves settings given by a program, without reading any file. Throws `invalid-config`. */
export function resolveConfig(options: ResolveOptions): LoadedConfig {
  const { settings = {}, capabilities = [] } = options;
  capabilities.forEach(assertForeign);
  const schema =
    capabilities.length === 0 ? shippedSchema() : new SettingsSchema([...CAPABILITIES, ...capabilities]);
  return orThrow(atOnce(resolveSteps({ file: undefined, schema, source: objectSource(settings) }, options)));
}

let shipped: SettingsSchema | undefined;

/** The keys of the shipped capabilities. Made once, because making schemas takes a large part of every start. */
export function shippedSchema(): SettingsSchema {
  return (shipped ??= new SettingsSchema(CAPABILITIES));
}

type Attempt =
  | { readonly loaded: LoadedConfig; readonly problems?: undefined }
  | { readonly loaded?: undefined; readonly problems: readonly Problem[] };

/** Does each step of the work in a turn of its own: with thousands of agents each takes a while, and other work runs in between. */
async function inTurns<T>(work: Generator<void, T>): Promise<T> {
  for (;;) {
    await nextTurn();
    const { done, value } = work.next();
    if (done) return value;
  }
}

function atOnce<T>(work: Generator<void, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

function orThrow(result: Attempt): LoadedConfig {
  if (result.problems !== undefined) throw problemsError(result.problems, HINT);
  return result.loaded;
}

const homeOf = ({ env, overrides }: LoadOptions): string => resolve(overrides?.home ?? env.home);

interface Reading {
  readonly file: string | undefined;
  readonly schema: SettingsSchema;
  readonly source: Source;
  /** The first secret that other users can read: as plain text in this file, or in another file. */
  readonly exposedSecret?: Path | undefined;
  readonly added?: readonly AddedAgent[];
}

/** Reads the configuration file and, unless the purpose is to call a server, the added agents. */
async function readSource(options: LoadOptions): Promise<Reading> {
  const { purpose = 'serve', added } = options;
  const reading = await readConfigFile(options);
  const { source } = reading;
  if (purpose === 'call' || source.problems.length > 0) return reading;
  const agents = added ?? (await new AddedAgents(homeOf(options)).read());
  return { ...reading, source: withAddedAgents(source, agents, homeOf(options)), added: agents };
}

async function readConfigFile(options: LoadOptions): Promise<Reading> {
  const named = options.overrides?.configFile ?? options.env.configFile;
  const file = named ?? join(homeOf(options), 'config.yaml');
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    const missing = NO_SUCH_FILE.has(codeOf(error) ?? '');
    const schema = shippedSchema();
    if (missing && named === undefined) return { file: undefined, schema, source: objectSource({}) };
    const problem = missing ? 'there is no such file' : `cannot be read: ${errorText(error)}`;
    throw problemsError([{ at: file, key: '', text: problem }], HINT);
  }
  const reading = await readText(text, { file, schema: shippedSchema() }, options);
  if (options.purpose === 'call' || !isGroup(reading.source.values)) return reading;
  const names: unknown = reading.source.values['capabilities'];
  if (!Array.isArray(names) || names.length === 0) return reading;
  const folder = dirname(resolve(file));
  const further = await Promise.all(names.map((name) => loadCapability(String(name), folder)));
  return readText(text, { file, schema: new SettingsSchema([...CAPABILITIES, ...further]) }, options);
}

/** Loads the capability of a named package. Rejects with `invalid-config` when that fails to load or exports none. */
async function loadCapability(name: string, folder: string): Promise<Capability> {
  let loaded: { readonly capability?: Capability };
  try {
    const file = createRequire(join(folder, 'config.yaml')).resolve(name);
    loaded = (await import(pathToFileURL(file).href)) as typeof loaded;
  } catch (cause) {
    const text = `capabilities: ${name} cannot be loaded: ${errorText(cause)}`;
    const hint = `Install it beside the configuration file: npm install --prefix ${folder} ${name}`;
    throw new LangoError('invalid-config', text, { hint, cause });
  }
  const { capability } = loaded;
  const hint = 'It must export one by the name "capability", made with defineCapability.';
  if (!capability)
    throw new LangoError('invalid-config', `capabilities: ${name} exports no capability.`, { hint });
  assertForeign(capability);
  return capability;
}

async function readText(
  text: string,
  { file, schema }: { readonly file: string; readonly schema: SettingsSchema },
  options: LoadOptions,
): Promise<Reading> {
  const variables = { ...options.env.variables, [ENV_VARIABLES.home.name]: homeOf(options) };
  let writtenSecret: Path | undefined;
  let exposedSecret: Path | undefined;
  /** Substitutes variables and converts the result to the type of the key. An empty result leaves the key out. */
  const readValue = (value: string, path: Path): TextReading => {
    const isSecret = schema.isSecret(path);
    if (isSecret && !value.includes('${')) writtenSecret ??= path;
    const result = substitute(value, variables, isSecret);
    if ('problem' in result)
      return 'isUnset' in result && mayBeUnset(path, schema, options) ? { value: undefined } : result;
    if (!result.changed) return { value: result.text };
    if (result.text === '') return { value: undefined };
    if (result.isExposed) exposedSecret ??= path;
    const types = new Set(schemasAt(path, schema.json).flatMap(({ type }) => type ?? []));
    return { value: retype(result.text, types) };
  };
  // Most servers have no configuration file, so the parser is loaded only when needed.
  const { textSource } = await import('./text-source.js');
  const source = textSource(text, { file, syntax: 'yaml', readText: readValue });
  return {
    ...{ file: resolve(file), schema, source },
    exposedSecret: exposedSecret ?? (isReadableByAll(file) ? writtenSecret : undefined),
  };
}

/** Whether the purpose allows a value whose variable is not set. */
function mayBeUnset(path: Path, schema: SettingsSchema, { purpose }: LoadOptions): boolean {
  if (purpose === 'show') return true;
  if (purpose === undefined || purpose === 'serve') return false;
  return schema.isSecret(path) && (purpose === 'call' || !schema.opensData(keyOf(path)));
}

/** Resolves a configuration in several steps, each of which reads all settings once. */
function* resolveSteps(
  { source, file, schema, ...reading }: Reading,
  options: LoadOptions,
): Generator<void, Attempt> {
  if (source.values !== undefined && !isGroup(source.values))
    return { problems: [{ at: source.locate([]), key: '', text: 'must be a group of keys' }] };
  const layered = layer(source.values ?? {}, {
    ...options,
    variables: schema.capabilities.flatMap(({ variables = [] }) => variables),
  });
  yield;
  const { values, origins, sources } = layered;
  const exposedSecret = reading.exposedSecret ?? layered.exposed;
  const base = { home: homeOf(options), configFile: file, exposedSecret };
  const { purpose } = options;
  const isCall = purpose === 'call';
  const given = { values: isCall ? callValues(values) : values, schema, base, purpose };
  const checked = yield* checkSettings(given);
  yield;
  const isNeeded = (key: string) => purpose !== 'show' && (purpose !== 'data' || schema.opensData(key));
  const unread = layered.problems.filter(({ key }) => isNeeded(key));
  const sourceProblems = [...source.problems, ...unread].filter(({ key }) => !isCall || concernsCall(key));
  const reported = new Set(sourceProblems.map(({ key }) => key));
  const problems = (checked.findings ?? []).map((finding) => toProblem(finding, source, sources));
  const all = [...sourceProblems, ...problems.filter(({ key }) => !reported.has(key))];
  if (checked.settings === undefined || all.length > 0)
    return { problems: all.sort(byLocation).slice(0, PROBLEMS_MAX) };
  const { settings } = checked;
  const config = configOf(schema, settings, { base, sources });
  const { added = [] } = reading;
  const secrets = secretsOf(schema, settings, config);
  yield;
  return { loaded: { config, secrets, schema, settings, origins, added } };
}

/** The keys that tell a client where the server of this configuration is and how to call it. */
const CALL_KEYS = [
  ...['server.host', 'server.port', 'server.tls.certFile', 'auth.mode', 'auth.token'],
  ...['a2a.baseUrl', 'a2a.catalogs'],
];

/** Keeps the values that a client needs, and values of a wrong type at their groups, which the check reports. */
function callValues(values: unknown, prefix = ''): unknown {
  if (!isGroup(values)) return values;
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => {
      const key = `${prefix}${name}`;
      return concernsCall(key) ? [[name, callValues(value, `${key}.`)]] : [];
    }),
  );
}

/** Whether a client needs the key, or a key of this group. The empty key is the whole file. */
function concernsCall(key: string): boolean {
  return key === '' || CALL_KEYS.some((one) => one === key || one.startsWith(`${key}.`));
}

/** Sorts "FILE:9:1" before "FILE:10:1". */
const LOCATIONS = new Intl.Collator('en', { numeric: true });

const byLocation = (a: Problem, b: Problem): number => LOCATIONS.compare(a.at, b.at);

/** The settings of a program. They have no positions, so problems are located by key only. */
function objectSource(values: unknown): Source {
  // The program may change its settings later.
  return { values: structuredClone(values), problems: [], locate: () => 'settings' };
}
