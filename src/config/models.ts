import { keyOf, finding, type Finding, type Path } from '../core/findings.js';
import { mapMembers } from '../core/json.js';
import { ENV_VARIABLES } from './env.js';
import { DEFAULT_ANTHROPIC_MODEL, DEFAULT_OPENAI_MODEL } from './model-keys.js';
import type { Settings } from './schema.js';

type ModelSettings = Settings['model'];

/** The keys of `model` that are secrets, or that other models have not, or resolved. */
type OwnKey =
  'apiKey' | 'apiKeys' | 'secretOptions' | 'baseUrls' | 'provider' | 'fallbacks' | 'fallbackOnRefusal';

/** The settings of one model, without its secrets. */
export interface ModelChoice extends Readonly<Omit<ModelSettings, OwnKey>> {
  readonly provider: Exclude<ModelSettings['provider'], 'auto'>;
  /** The name of its secrets in `Secrets.modelKeys` and `Secrets.modelOptions`, which may have none. */
  readonly key: string;
  /** The models to ask, in this order, when this one does not respond. They have no fallbacks themselves. */
  readonly fallbacks: readonly ModelChoice[];
}

/** The model of `model`, with the addresses of providers for the others. */
type MainModel = ModelChoice & Pick<ModelSettings, 'baseUrls'>;

export interface ModelConfig extends MainModel {
  /** Why this provider was chosen, as a sentence without its full stop. */
  readonly reason: string;
  readonly fallbackOnRefusal: boolean;
}

type OtherModel = Settings['agent']['models'][string];

/** A model other than `model`, with its path in the settings. */
type LocatedModel = Readonly<{ path: Path; given: OtherModel }>;

const DEFAULT_NAMES = {
  anthropic: DEFAULT_ANTHROPIC_MODEL,
  openai: DEFAULT_OPENAI_MODEL,
  'ai-sdk': undefined,
  offline: undefined,
};

/** Resolves `model`. `sources` has the environment variables that filled keys. */
export function modelOf(model: ModelSettings, sources: ReadonlyMap<string, string> = new Map()): ModelConfig {
  const keyVariable = sources.get('model.apiKey');
  const { apiKey, apiKeys: _, secretOptions: __, provider, fallbacks: ___, ...others } = model;
  const explicit = { provider, reason: `model.provider is ${provider}` };
  const chosen = provider === 'auto' ? automatic(apiKey, keyVariable) : { ...explicit, provider };
  const name = model.name ?? DEFAULT_NAMES[chosen.provider];
  const baseUrl = model.baseUrl ?? baseUrlOf(chosen.provider, model.baseUrls);
  const variable = model.baseUrl === undefined && sources.get(`model.baseUrls.${chosen.provider}`);
  const reason = variable
    ? `${chosen.reason}; ${variable} sends its requests to ${new URL(baseUrl!).host}`
    : chosen.reason;
  const main = {
    ...{ ...others, ...chosen, reason, ...(baseUrl && { baseUrl }), ...(name && { name }) },
    ...{ key: chosen.provider, fallbacks: [] },
  };
  return { ...main, fallbacks: locateFallbacks(model).map((one) => resolve(one, main)) };
}

/** The address of a provider that the environment or the file names; undefined for the vendor's own. */
function baseUrlOf(provider: string, baseUrls: ModelSettings['baseUrls']): string | undefined {
  return provider === 'anthropic' || provider === 'openai' ? baseUrls[provider] : undefined;
}

/** Resolves `agent.models`, by the names of the agents. */
export function agentModelsOf({ models }: Settings['agent'], main: MainModel): Record<string, ModelChoice> {
  return mapMembers(models, (given, name) => {
    return { ...resolve({ path: pathOf(name), given }, main), fallbacks: main.fallbacks };
  });
}

/** The model of this name, with the server, the key and the other settings of `main`, and no fallbacks. */
export function modelNamed(name: string, main: MainModel): ModelChoice {
  return resolve({ path: ['model'], given: name }, main);
}

/** All models of a configuration, by the keys that name them. */
export function choicesIn({ model, agent }: Models): readonly (readonly [key: string, ModelChoice])[] {
  return [
    ['model', model],
    ...model.fallbacks.map((choice, index) => [`model.fallbacks[${index}]`, choice] as const),
    ...Object.entries(agent.models).map(([name, choice]) => [`agent.models.${name}`, choice] as const),
  ];
}

interface Models {
  readonly model: ModelChoice;
  readonly agent: { readonly models: Readonly<Record<string, ModelChoice>> };
}

/** The values of a secret of all models, by the `key` of the choices; those of `model.apiKeys` by their providers. */
export function modelSecretsOf<Name extends 'apiKey' | 'secretOptions'>(
  name: Name,
  settings: Settings,
  { provider }: ModelChoice,
): ReadonlyMap<string, NonNullable<ModelSettings[Name]>> {
  const all = [
    ...(name === 'apiKey' ? Object.entries(settings.model.apiKeys) : []),
    [provider, settings.model[name]],
    ...otherModelsOf(settings).map(({ path, given }) => [keyOf(path), definedKeys(given)[name]]),
  ] as [string, ModelSettings[Name]][];
  return new Map(all.flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])));
}

const pathOf = (agent: string): Path => ['agent', 'models', agent];

function locateFallbacks({ fallbacks }: ModelSettings): readonly LocatedModel[] {
  return fallbacks.map((given, index) => ({ path: ['model', 'fallbacks', index], given }));
}

/** All models of the settings besides that of `model`. */
export function otherModelsOf({ model, agent }: Pick<Settings, 'model' | 'agent'>): readonly LocatedModel[] {
  const ofAgents = Object.entries(agent.models).map(([name, given]) => ({ path: pathOf(name), given }));
  return [...locateFallbacks(model), ...ofAgents];
}

/** The keys of a model that are set. */
function definedKeys(given: OtherModel): Exclude<OtherModel, string> {
  if (typeof given === 'string') return { name: given };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** Completes a model from `model`: server and key for the same provider, all other settings only for the same model. */
function resolve({ path, given: all }: LocatedModel, main: MainModel): ModelChoice {
  const { apiKey, secretOptions, ...given } = definedKeys(all);
  const { maxRetries, timeoutSeconds } = main;
  const provider = given.provider ?? main.provider;
  const isSamePackage = given.package === undefined || given.package === main.package;
  const isSameServer = provider === main.provider && given.baseUrl === undefined && isSamePackage;
  const hasOwnSecrets = apiKey !== undefined || secretOptions !== undefined || !isSamePackage;
  const isSameModel = isSameServer && (given.name === undefined || given.name === main.name);
  const name = isSameServer ? main.name : given.baseUrl === undefined ? DEFAULT_NAMES[provider] : undefined;
  return {
    ...{ maxRetries, timeoutSeconds, api: 'auto', images: true, name },
    baseUrl: baseUrlOf(provider, main.baseUrls),
    ...(isSameServer && { baseUrl: main.baseUrl, api: main.api, ...ofPackage(main) }),
    ...(isSameModel && main),
    ...given,
    provider,
    key: hasOwnSecrets ? keyOf(path) : given.baseUrl === undefined ? provider : '',
    fallbacks: [],
  };
}

const ofPackage = ({ package: name, factory, options, providerOptions }: ModelChoice) => ({
  ...{ package: name, factory, options, providerOptions },
});

type Chosen = Pick<ModelConfig, 'provider' | 'reason'>;

/** The choice of `auto`: the environment fills `apiKey` with the key of Anthropic, else with that of OpenAI. */
function automatic(apiKey: string | undefined, keyVariable: string | undefined): Chosen {
  const { anthropicApiKey, openaiApiKey } = ENV_VARIABLES;
  if (apiKey === undefined)
    return { provider: 'offline', reason: `neither ${anthropicApiKey.name} nor ${openaiApiKey.name} is set` };
  const provider = keyVariable?.startsWith(openaiApiKey.name) ? 'openai' : 'anthropic';
  return { provider, reason: `${keyVariable ?? 'model.apiKey'} is set` };
}

/** Finds models that cannot be called: without a name or a key, or with a name of another vendor. */
export function modelFindings(settings: Settings): readonly Finding[] {
  const { model } = settings;
  const main = modelOf(model);
  const keys = modelSecretsOf('apiKey', settings, main);
  const own = [...choiceFindings(['model', 'provider'], main, keys), ...tuningFindings(['model'], main)];
  const lacksName = /^(openai|ai-sdk)$/.test(model.provider) && model.name === undefined;
  const nameFindings = lacksName ? finding(['model', 'provider'], NAME_MISSING) : [];
  const others = otherModelsOf(settings).flatMap((one) => {
    const choice = resolve(one, main);
    const at = typeof one.given === 'string' ? one.path : [...one.path, 'provider'];
    const lacksName = choice.provider !== 'offline' && choice.name === undefined;
    return [
      ...choiceFindings(at, choice, keys),
      ...tuningFindings(one.path, choice),
      ...(lacksName ? finding([...one.path, choice.package ? 'package' : 'baseUrl'], NAME_MISSING) : []),
    ];
  });
  return [...(model.provider === 'auto' ? [] : own), ...nameFindings, ...others];
}

const PACKAGE_MISSING =
  'is ai-sdk, which needs a package: set package next to this key, such as @ai-sdk/google';
const NAME_MISSING = 'needs the name of a model: set name next to this key';

/** Patterns of the names of each vendor's own models. */
const NAMES_OF_VENDOR = { anthropic: /^claude-/, openai: /^(gpt-|o[134](-|$)|chatgpt)/ };

function choiceFindings(path: Path, choice: ModelChoice, keys: ReadonlyMap<string, string>) {
  const { provider, name = '', baseUrl, key } = choice;
  if (provider === 'ai-sdk') return choice.package === undefined ? finding(path, PACKAGE_MISSING) : [];
  if (choice.package !== undefined) return finding(path, `must be ai-sdk for the package ${choice.package}`);
  if (provider === 'offline' || baseUrl !== undefined) return [];
  const other = provider === 'anthropic' ? 'openai' : 'anthropic';
  if (NAMES_OF_VENDOR[other].test(name))
    return finding(path, `is ${provider}, which has no model "${name}"; set the provider to ${other}`);
  if (keys.has(key)) return [];
  const variable = ENV_VARIABLES[`${provider}ApiKey`].name;
  return finding(path, `needs a key: set model.apiKeys.${provider} or ${variable}`);
}

function tuningFindings(path: Path, { provider, effort, thinking }: ModelChoice): readonly Finding[] {
  if (provider === 'anthropic' && (effort === 'none' || effort === 'minimal')) {
    const text = `can be low, medium, high, xhigh or max for anthropic; thinking: off forbids a model to think`;
    return finding([...path, 'effort'], text);
  }
  if (thinking === undefined || (provider !== 'openai' && provider !== 'ai-sdk')) return [];
  const instead = provider === 'openai' ? 'a model of openai' : 'this model, or its providerOptions';
  return finding([...path, 'thinking'], `is for anthropic; set effort for ${instead}`);
}
