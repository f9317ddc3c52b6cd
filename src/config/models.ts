import { ENV_VARIABLES } from './env.js';
import { DEFAULT_ANTHROPIC_MODEL, DEFAULT_OPENAI_MODEL } from './model-keys.js';
import { finding, keyOf, type Finding } from './problems.js';
import type { Path, Settings } from './schema.js';

type ModelSettings = Settings['model'];
type Tuning = Readonly<Pick<ModelSettings, 'effort' | 'thinking' | 'temperature'>>;

/** One model with everything that it needs but its key. */
export interface ModelChoice extends Tuning {
  readonly provider: 'offline' | 'anthropic' | 'openai';
  readonly name?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly api: ModelSettings['api'];
  readonly images: boolean;
  readonly maxRetries: number;
  readonly timeoutSeconds: number;
  /** The name of its key in `Secrets.modelKeys`, which may have none. */
  readonly key: string;
  /** Asked in this order when it does not answer. They have no fallbacks of their own. */
  readonly fallbacks: readonly ModelChoice[];
}

export interface ModelConfig extends ModelChoice {
  /** Why this provider, as a sentence without its full stop. */
  readonly reason: string;
}

type Entry = Settings['agent']['models'][string];

/** A model besides that of `model`, at its place in the settings. */
interface PlacedEntry {
  readonly path: Path;
  readonly entry: Entry;
}

const DEFAULT_NAMES = {
  anthropic: DEFAULT_ANTHROPIC_MODEL,
  openai: DEFAULT_OPENAI_MODEL,
  offline: undefined,
};

/** Resolves `model`. `keyVariable` is the environment variable that filled `model.apiKey`. */
export function modelOf(model: ModelSettings, keyVariable?: string): ModelConfig {
  const { apiKey, apiKeys: _, provider, fallbacks, ...others } = model;
  const chosen = provider === 'auto' ? automatic(apiKey, keyVariable) : explicit(provider);
  const name = model.name ?? DEFAULT_NAMES[chosen.provider];
  const main = { ...others, ...chosen, ...(name && { name }), key: chosen.provider, fallbacks: [] };
  return { ...main, fallbacks: placed(fallbacks, FALLBACKS).map((each) => resolved(each, main)) };
}

/** Resolves `agent.models`, by the names of the agents. */
export function agentModelsOf({ models }: Settings['agent'], main: ModelChoice): Record<string, ModelChoice> {
  return Object.fromEntries(
    Object.entries(models).map(([name, entry]) => {
      return [name, { ...resolved({ path: placeOf(name), entry }, main), fallbacks: main.fallbacks }];
    }),
  );
}

/** The keys of `model.apiKey`, `model.apiKeys` and the entries, by the `key` of the choices. */
export function modelKeysOf(settings: Settings, { provider }: ModelChoice): ReadonlyMap<string, string> {
  const { apiKey, apiKeys } = settings.model;
  const keys = [
    ...Object.entries(apiKeys),
    [provider, apiKey] as const,
    ...entriesOf(settings).map(({ path, entry }) => [keyOf(path), ownKey(entry)] as const),
  ];
  return new Map(keys.flatMap(([name, key]) => (key === undefined ? [] : [[name, key]])));
}

const FALLBACKS: Path = ['model', 'fallbacks'];

function placeOf(agent: string): Path {
  return ['agent', 'models', agent];
}

function placed(entries: readonly Entry[], path: Path): readonly PlacedEntry[] {
  return entries.map((entry, index) => ({ path: [...path, index], entry }));
}

/** All models of the settings besides that of `model`. */
export function entriesOf({ model, agent }: Pick<Settings, 'model' | 'agent'>): readonly PlacedEntry[] {
  const ofAgents = Object.entries(agent.models).map(([name, entry]) => ({ path: placeOf(name), entry }));
  return [...placed(model.fallbacks, FALLBACKS), ...ofAgents];
}

function ownKey(entry: Entry): string | undefined {
  return typeof entry === 'string' ? undefined : entry.apiKey;
}

/** The keys of an entry that are set. */
function keysOf(entry: Entry): Exclude<Entry, string> {
  if (typeof entry === 'string') return { name: entry };
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined));
}

/** Server and key are as in `model` for the same provider; all else belongs to a model, so only to that of the same name. */
function resolved({ path, entry }: PlacedEntry, main: ModelChoice): ModelChoice {
  const { apiKey, ...given } = keysOf(entry);
  const { maxRetries, timeoutSeconds } = main;
  const provider = given.provider ?? main.provider;
  const isSameServer = provider === main.provider && given.baseUrl === undefined;
  const isSameModel = isSameServer && (given.name === undefined || given.name === main.name);
  const name = isSameServer ? main.name : given.baseUrl === undefined ? DEFAULT_NAMES[provider] : undefined;
  return {
    ...{ maxRetries, timeoutSeconds, api: 'auto', images: true, name },
    ...(isSameServer && { baseUrl: main.baseUrl, api: main.api }),
    ...(isSameModel && main),
    ...given,
    provider,
    key: apiKey !== undefined ? keyOf(path) : given.baseUrl === undefined ? provider : '',
    fallbacks: [],
  };
}

type Chosen = Pick<ModelConfig, 'provider' | 'reason'>;

function explicit(provider: ModelChoice['provider']): Chosen {
  return { provider, reason: `model.provider is ${provider}` };
}

/** The choice of `auto`: the environment fills `apiKey` with the key of Anthropic, else with that of OpenAI. */
function automatic(apiKey: string | undefined, keyVariable: string | undefined): Chosen {
  const { anthropicApiKey, openaiApiKey } = ENV_VARIABLES;
  if (apiKey === undefined) {
    return { provider: 'offline', reason: `neither ${anthropicApiKey.name} nor ${openaiApiKey.name} is set` };
  }
  const provider = keyVariable?.startsWith(openaiApiKey.name) ? 'openai' : 'anthropic';
  return { provider, reason: `${keyVariable ?? 'model.apiKey'} is set` };
}

/** Finds models that no vendor could be asked for. */
export function modelFindings(settings: Settings): readonly Finding[] {
  const { model } = settings;
  const main = modelOf(model);
  const keys = modelKeysOf(settings, main);
  const own = [...ofChoice(['model', 'provider'], main, keys), ...ofTuning(['model'], main)];
  const named = model.provider === 'openai' && model.name === undefined;
  const unnamed = named ? finding(['model', 'provider'], NAMELESS) : [];
  const others = entriesOf(settings).flatMap((each) => {
    const choice = resolved(each, main);
    const at = typeof each.entry === 'string' ? each.path : [...each.path, 'provider'];
    const nameless = choice.provider !== 'offline' && choice.name === undefined;
    return [
      ...ofChoice(at, choice, keys),
      ...ofTuning(each.path, choice),
      ...(nameless ? finding([...each.path, 'baseUrl'], NAMELESS) : []),
    ];
  });
  return [...(model.provider === 'auto' ? [] : own), ...unnamed, ...others];
}

const NAMELESS = 'needs to know which model to ask: set the name of the model beside it';

/** The names of the vendors' own models. */
const FAMILIES = { anthropic: /^claude-/, openai: /^(gpt-|o[134](-|$)|chatgpt)/ };

function ofChoice(path: Path, choice: ModelChoice, keys: ReadonlyMap<string, string>): readonly Finding[] {
  const { provider, name = '', baseUrl, key } = choice;
  if (provider === 'offline' || baseUrl !== undefined) return [];
  const other = provider === 'anthropic' ? 'openai' : 'anthropic';
  if (FAMILIES[other].test(name)) {
    return finding(path, `is ${provider}, which has no model "${name}"; set the provider to ${other}`);
  }
  if (keys.has(key)) return [];
  const variable = ENV_VARIABLES[`${provider}ApiKey`].name;
  return finding(path, `needs a key: set model.apiKeys.${provider} or ${variable}`);
}

function ofTuning(path: Path, { provider, effort, thinking }: ModelChoice): readonly Finding[] {
  if (provider === 'anthropic' && (effort === 'none' || effort === 'minimal')) {
    const text = `can be low, medium, high, xhigh or max for anthropic; thinking: off forbids a model to think`;
    return finding([...path, 'effort'], text);
  }
  if (provider !== 'openai' || thinking === undefined) return [];
  return finding([...path, 'thinking'], 'is for anthropic; set effort for a model of openai');
}
