import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { errorText, LangoError } from '../../core/errors.js';
import { isJsonObject, parseObject, type Json, type JsonObject } from '../../core/json.js';
import type { AiSdkModel, PackageModel } from './language-model.js';

/** A model of a known version of the contract. What is read of their streams is the same in all. */
export type KnownModel = Pick<LanguageModelV4, 'doStream'> & Omit<AiSdkModel, 'doStream'>;

const VERSIONS = ['v4', 'v3', 'v2'];

/** Throws `invalid-config` for a value that is no model, or one of another version of the contract. */
export function knownModel(model: unknown, what: string): KnownModel {
  const { doStream, specificationVersion = 'v1' } = (model ?? {}) as Partial<AiSdkModel>;
  if (typeof doStream !== 'function')
    throw new LangoError('invalid-config', `${what} is not a language model of the AI SDK.`, {
      hint: 'Give one such as google("gemini-…"), made by a provider package.',
    });
  if (VERSIONS.includes(specificationVersion)) return model as KnownModel;
  const text = `${what} implements version ${specificationVersion} of the contract of the AI SDK; this server knows ${VERSIONS.join(', ')}.`;
  throw new LangoError('invalid-config', text, { hint: 'Install a version of its package that fits.' });
}

/** Settings without which a package refuses to work, or reports no usage. */
const DEFAULT_OPTIONS: Readonly<Record<string, JsonObject>> = {
  '@ai-sdk/openai-compatible': {
    name: 'openai-compatible',
    includeUsage: true,
    supportsStructuredOutputs: true,
  },
};

/** Finds the file of a package in the first of the folders that has it. Throws `invalid-config` with the way to install it. */
export function findPackage(name: string, folders: readonly string[]): string {
  for (const folder of folders) {
    const require = createRequire(join(folder, 'package.json'));
    const places = (require.resolve.paths(name) ?? []).map((place) => join(place, packageOf(name)));
    const home = places.find((place) => existsSync(join(place, 'package.json')));
    if (home === undefined) continue;
    try {
      return importedFile(name, home) ?? require.resolve(name);
    } catch (error) {
      throw unusable(name, errorText(error), error);
    }
  }
  const hint = `Run: npm install --prefix ${folders[0]} ${packageOf(name)}`;
  throw new LangoError('invalid-config', `The package ${name} of a model is not installed.`, { hint });
}

/** The file that an import of the package would load, by the `exports` in its package.json: `require` finds another, or none. */
function importedFile(name: string, home: string): string | undefined {
  const { exports } = parseObject(readFileSync(join(home, 'package.json'), 'utf8')) ?? {};
  const entry = `.${name.slice(packageOf(name).length)}`;
  const isOfEntries = isJsonObject(exports) && Object.keys(exports).every((key) => key.startsWith('.'));
  const file = targetOf(isOfEntries ? exports[entry] : entry === '.' ? exports : undefined);
  return file === undefined ? undefined : join(home, file);
}

function targetOf(target: Json | undefined): string | undefined {
  if (typeof target === 'string') return target;
  if (!isJsonObject(target)) return undefined;
  return targetOf(target.node ?? target.import ?? target.default);
}

/** The package of an entry: "@ai-sdk/google-vertex" of "@ai-sdk/google-vertex/anthropic". */
const packageOf = (name: string): string => /^(@[^/]*\/)?[^/]*/.exec(name)![0];

/** The vendor in ids of models: "google" for "@ai-sdk/google", "openrouter" for "@openrouter/ai-sdk-provider". */
export const vendorOf = (name: string): string =>
  /^@(?!ai-sdk\/)([^/]*)|([^/]*)$/.exec(packageOf(name))![0].replace('@', '');

/** Loads a package from its file and makes a model. Throws `invalid-config` when it cannot. */
export async function loadModel(file: string, { package: name, model, factory, options }: PackageModel) {
  const loaded = (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>;
  const create = factoryOf(loaded, name, factory);
  const provider = create({ ...DEFAULT_OPTIONS[name], ...options }) as Provider;
  const made: unknown = provider.languageModel ? provider.languageModel(model) : provider(model);
  return knownModel(made, `${name} with the model ${model}`);
}

type Factory = (settings: unknown) => unknown;
type Provider = Factory & { languageModel?(model: string): unknown };

function factoryOf(loaded: Readonly<Record<string, unknown>>, name: string, given: string | undefined) {
  const isFactory = (key: string): boolean => typeof loaded[key] === 'function';
  const names = Object.keys(loaded).filter((key) => /^create[A-Z]/.test(key) && isFactory(key));
  const wanted = given === undefined ? names : [given].filter(isFactory);
  // Some packages export a function under an older name too.
  const [first, ...others] = new Set(wanted.map((key) => loaded[key] as Factory));
  if (first && others.length === 0) return first;
  const none = `it exports no function ${given ?? 'that makes a provider'}`;
  const problem = first ? 'it has several functions that make providers' : none;
  throw unusable(name, `${problem}; set factory to one of: ${names.join(', ') || 'none'}`);
}

function unusable(name: string, why: string, cause?: unknown): LangoError {
  const hint = 'Check package and factory of the model; the page of the package names its function.';
  return new LangoError('invalid-config', `The package ${name} cannot be used: ${why}.`, { hint, cause });
}
