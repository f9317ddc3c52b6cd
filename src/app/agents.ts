import { finding, type Finding, type Path } from '../core/findings.js';
import os from 'node:os';
import { extendRoster, isShipped } from '../agents/agent-specs.js';
import { agentNames, buildAgentTree, makeDefinedAgent, unknownPublished } from '../agents/agent-tree.js';
import { Attachments } from '../agents/attachments.js';
import type { DefinedAgent } from '../agents/defined-agent.js';
import type { Meter } from '../agents/bill.js';
import { roleOf } from '../agents/partition.js';
import type { Additions, PromptTexts } from '../agents/prompts.js';
import { agentLimits, groupsOf, type Config } from '../config/config.js';
import type { ModelChoice } from '../config/models.js';
import type { LoadedConfig } from '../config/load.js';
import { nearestOf } from '../core/text.js';
import type { Agent, Roster } from '../core/agent.js';
import type { ToolAssignment } from '../core/capability.js';
import { LangoError } from '../core/errors.js';
import type { ModelProvider } from '../core/model.js';
import type { Run } from '../core/run.js';
import type { Scope } from '../core/task.js';
import type { Tool, ToolSource } from '../core/tool.js';
import { egressOf, type AgentOrigin, type Parts } from './node.js';
import { unusedListFindings } from '../config/remote-agents.js';
import { isOperator } from '../http/identity.js';
import { workFoldersOf } from './stores.js';
import { withFallbacks } from '../models/fallback.js';
import { createOfflineProvider } from '../models/offline/provider.js';
import { KNOWN_PRICES, PRICES_CURRENCY, PRICES_READ } from '../models/prices.js';

type ModelContext = Parts<'config' | 'secrets' | 'schema' | 'settings' | 'logger'>;

/** Makes the provider of a configured model, with its fallbacks. A new vendor is a folder in models/ and a line here. */
export async function createModel(choice: ModelChoice, context: ModelContext): Promise<ModelProvider> {
  const chain = [choice, ...choice.fallbacks];
  const providers = await Promise.all(chain.map((each) => createProvider(each, context)));
  return withFallbacks(providers, context.logger);
}

/** A response that is no stream: an error, or a whole output of a server that does not stream. */
const LARGEST_BODY_BYTES = 2 * 1024 * 1024;

async function createProvider(choice: ModelChoice, context: ModelContext): Promise<ModelProvider> {
  const { config, secrets, schema, logger } = context;
  const { provider, name: model = '', baseUrl, timeoutSeconds, key, ...rest } = choice;
  if (provider === 'offline') {
    const { roster, ownAgents } = config.agent;
    const assigned = withAssignedTools(extendRoster(roster, ownAgents), context);
    const sentences = schema.capabilities.flatMap((one) => one.sentences ?? []);
    return createOfflineProvider({ sentences, agentOf: (tool) => roleOf(tool, assigned) });
  }
  const timeoutMs = 1_000 * timeoutSeconds;
  const options = {
    ...{ ...rest, model, baseUrl, timeoutMs, apiKey: secrets.modelKeys.get(key) },
    fetch: egressOf(context)({
      ...{ configuredUrl: baseUrl, timeoutMs, idleMs: timeoutMs, maxBytes: LARGEST_BODY_BYTES },
      // The vendors' libraries ask for a stream in the body, not by the Accept header.
      streams: 'always',
    }),
    logger,
  };
  if (provider === 'anthropic') {
    const { createAnthropicProvider } = await import('../models/anthropic/provider.js');
    return createAnthropicProvider(options);
  }
  const { createOpenaiProvider } = await import('../models/openai/provider.js');
  return createOpenaiProvider(options);
}

/** Makes the models of the agents; `given` replaces the configured `model`. Agents with equal settings share a model. */
export async function openModels(
  given: ModelProvider | undefined,
  context: ModelContext,
): Promise<Parts<'model' | 'models'>> {
  const { config, logger } = context;
  const model = given ?? (await createModel(config.model, context));
  if (!given) logger.info('model chosen', { model: model.id, reason: config.model.reason });
  const made = new Map<string, Promise<ModelProvider>>();
  const models = Object.entries(config.agent.models).map(async ([agent, choice]) => {
    const id = JSON.stringify(choice);
    if (!made.has(id)) made.set(id, createModel(choice, context));
    const own = await made.get(id)!;
    logger.info('model of an agent chosen', { agent, model: own.id });
    return [agent, own] as const;
  });
  return { model, models: new Map(await Promise.all(models)) };
}

type AgentParts = Parts<'config' | 'schema' | 'settings' | 'storage' | 'families' | 'parsers' | 'logger'> &
  Parts<'model' | 'models' | 'peers' | 'guard'>;

/** The parts of the agents that a program brings which uses Lango as a library, and the texts of files. */
interface Given {
  readonly agents?: readonly (Agent | DefinedAgent)[] | undefined;
  readonly tools?: readonly Tool[] | undefined;
  readonly additions?: Additions | undefined;
  readonly prompts: PromptTexts;
}

/**
 * Makes the agents of this node and adds those of `own`: the ones that `a2a.publish` names, or all when it names none of
 * them. Throws `invalid-config` when two have one name, or none is left.
 */
export function createAgents(
  node: AgentParts,
  given: Given,
): Parts<'agents' | 'subAgents' | 'agentOrigins' | 'root' | 'tools'> {
  const { config, families, parsers, model, peers, logger } = node;
  const { nodeId, spending } = node.storage;
  const { agents: own = [], additions, prompts } = given;
  const { roster, ownAgents } = config.agent;
  const specs = extendRoster(roster, ownAgents);
  const folders = workFoldersOf(config);
  const tools = [...families.flatMap((family) => family.tools), ...(given.tools ?? [])];
  const sources = families.flatMap((family) => family.sources ?? []);
  const defined = own.flatMap((agent) => ('run' in agent ? [] : agent));
  const allTools = [...new Set([...tools, ...defined.flatMap((agent) => agent.tools)])];
  warnOfUnknownTools(node, allTools, sources);
  const { publish } = config.a2a;
  const names = new Set(own.map(nameOf));
  throwFirst(modelNameFindings(config, names));
  const ofProgram = defined.flatMap((one) => (one.model ? [[one.name, one.model] as const] : []));
  const treeOptions = {
    ...{ model, peers, nodeId, spending, additions, prompts, secrets: node.guard, tools, sources, logger },
    models: new Map([...ofProgram, ...node.models]),
    meterOf: createMeters(node),
    attachments: new Attachments((document, call) => parsers.parse('text', document, call)),
    memories: families.flatMap(({ memory }) => memory ?? []),
    multiAgent: config.agent.multiAgent,
    roster: withAssignedTools(specs, node),
    limits: agentLimits(config),
    showsReasons: ({ task, grant }: Pick<Run, 'task' | 'grant'>) =>
      isOperator(config.auth, task.owner, grant.scopes),
    approval: config.approval.policy,
    surroundings: {
      system: `${os.type()} (${os.arch()})`,
      workspace: (scope: Scope) => folders.of(scope)[0] ?? config.home,
    },
    publish: publish?.filter((name) => !names.has(name)),
  };
  const tree = buildAgentTree(treeOptions);
  const isNamed = (agent: Agent | DefinedAgent): boolean => publish?.includes(nameOf(agent)) ?? false;
  const chosen = (own.some(isNamed) ? own.filter(isNamed) : own).map((agent) =>
    'run' in agent ? agent : makeDefinedAgent(agent, treeOptions),
  );
  const subAgents = [...tree.subAgents, ...chosen];
  const agents = byName([...(tree.root ? [tree.root] : []), ...subAgents]);
  const agentOrigins = new Map<string, AgentOrigin>([
    ...[...agents.keys()].map((name) => [name, 'shipped'] as const),
    ...specs.filter((spec) => !isShipped(spec)).map(({ name }) => [name, 'configured'] as const),
    ...chosen.map(({ profile }) => [profile.name, 'program'] as const),
  ]);
  return {
    agents,
    ...{ subAgents, agentOrigins, tools: allTools },
    root: tree.root?.profile.name ?? requireFirst(agents),
  };
}

/** Finds wrong names of agents, for `config check`: a start with them fails, or leaves out remote agents. */
export function agentFindings(loaded: LoadedConfig): readonly Finding[] {
  const { agent, a2a } = loaded.config;
  const names = {
    multiAgent: agent.multiAgent,
    roster: extendRoster(agent.roster, agent.ownAgents),
    publish: a2a.publish,
  };
  const known = agentNames(names);
  const unknown = unknownPublished(names).flatMap((name) =>
    unknownAgent(['a2a', 'publish', a2a.publish!.indexOf(name)], name, { known, verb: 'hold' }),
  );
  const runsHere = (name: string): boolean => (a2a.publish ?? known).includes(name) && known.includes(name);
  const taken = a2a.remoteAgents.flatMap(({ name }, index) => {
    const text = `is the name of an agent of this node, which hides the remote one; choose another, or leave ${name} out of a2a.publish`;
    return a2a.enabled && runsHere(name) ? finding(['a2a', 'remoteAgents', index, 'name'], text) : [];
  });
  const misnamed = modelNameFindings(loaded.config, new Set());
  return [
    ...unknown,
    ...misnamed,
    ...taken,
    ...unusedListFindings(loaded),
    ...assignmentFindings(names.roster, loaded),
  ];
}

/** Finds models of unknown agents, which would silently have no effect. `own`: the agents of the program. */
function modelNameFindings({ agent }: Config, own: ReadonlySet<string>): readonly Finding[] {
  const roster = extendRoster(agent.roster, agent.ownAgents);
  const known = [...agentNames({ multiAgent: agent.multiAgent, roster }), ...own];
  return Object.keys(agent.models).flatMap((name) =>
    known.includes(name) ? [] : unknownAgent(['agent', 'models', name], name, { known, verb: 'be' }),
  );
}

function unknownAgent(
  path: Path,
  name: string,
  { known, verb }: { readonly known: readonly string[]; readonly verb: string },
): readonly Finding[] {
  const nearest = nearestOf(name, known);
  const advice = nearest ? `did you mean "${nearest}"?` : `it can ${verb}: ${known.join(', ')}`;
  return finding(path, `names no agent of this server; ${advice}`);
}

/** Throws the first finding as `invalid-config`. */
function throwFirst([first]: readonly Finding[]): void {
  if (first) throw new LangoError('invalid-config', `${first.path.join('.')} ${first.text}.`);
}

type AssignmentSources = Parts<'config' | 'schema' | 'settings'>;

/** The tools that the settings of capabilities give to an agent by its name. */
function assignmentsIn({ schema, settings }: AssignmentSources): readonly ToolAssignment[] {
  return schema.capabilities.flatMap((one) => one.assigns?.(groupsOf(one, settings)) ?? []);
}

function assignmentFindings(specs: Roster, sources: AssignmentSources): readonly Finding[] {
  if (!sources.config.agent.multiAgent) return [];
  const names = specs.map(({ name }) => name);
  return assignmentsIn(sources).flatMap(({ agent, path }) => {
    if (names.includes(agent)) return [];
    return finding(path, `names no agent of the roster; it can be: ${names.join(', ')}`);
  });
}

/** Gives tools to the agents that the settings name. Throws `invalid-config` when there is none of that name. */
function withAssignedTools(specs: Roster, sources: AssignmentSources): Roster {
  throwFirst(assignmentFindings(specs, sources));
  const assigned = assignmentsIn(sources);
  return specs.map((spec) => {
    const own = assigned.filter(({ agent }) => agent === spec.name).map(({ prefix }) => prefix);
    return own.length === 0 ? spec : { ...spec, prefixes: [...own, ...spec.prefixes] };
  });
}

/** Makes the meter of each model, which all agents with that model share. */
function createMeters(node: AgentParts): (model: ModelProvider) => Meter {
  const meters = new Map<string, Meter>();
  return ({ id, fallbacks = [] }) => {
    const [meter, ...others] = [id, ...fallbacks].map((each) => {
      const known = meters.get(each) ?? createMeter(each, node);
      meters.set(each, known);
      return known;
    });
    return { ...meter!, fallbacks: others };
  };
}

/** The meter of a model, without a price where none is known. */
export function meterFor(model: string, { config, storage }: Parts<'config' | 'storage'>): Meter {
  const { currency } = config.bill;
  const name = nameIn(model);
  const known = currency === PRICES_CURRENCY ? KNOWN_PRICES[name] : undefined;
  const price = model === 'offline' ? { input: 0, output: 0 } : (config.prices[name] ?? known);
  return { node: storage.nodeId, model, currency, price };
}

function nameIn(model: string): string {
  return model.slice(model.indexOf('/') + 1);
}

/** Throws `invalid-config` for a limit of cost with a model that has no price, because it could not be enforced. */
function createMeter(model: string, node: AgentParts): Meter {
  const meter = meterFor(model, node);
  if (meter.price) return meter;
  const name = nameIn(model);
  const text = `The price of the model ${name} is not known in ${meter.currency} (known prices: ${PRICES_READ}).`;
  const hint = `Set prices.${name}: { input, output }, for a million tokens each.`;
  const { limits } = node.config.agent;
  const limit = (['cost', 'ownerCostPerDay'] as const).find((one) => limits[one] !== undefined);
  if (limit) throw new LangoError('invalid-config', `${text} agent.limits.${limit} needs it.`, { hint });
  // A model of the program has no vendor in its name, and no list price.
  if (model.includes('/')) node.logger.warn(`${text} Bills have its tokens only. ${hint}`);
  return meter;
}

/** Warns of unknown names in `approval.policy`: a misspelled one would silently leave a tool without its approval. */
function warnOfUnknownTools(
  { config, logger }: AgentParts,
  tools: readonly Tool[],
  sources: readonly ToolSource[],
): void {
  const { policy } = config.approval;
  if (typeof policy === 'string') return;
  const known = (name: string) =>
    tools.some((tool) => tool.name === name) || sources.some(({ kind }) => name.startsWith(kind.name));
  for (const name of policy.filter((one) => !known(one))) {
    logger.warn(`approval.policy names ${name}, but no tool here has that name: nobody is asked about it`);
  }
}

function nameOf(agent: Agent | DefinedAgent): string {
  return 'run' in agent ? agent.profile.name : agent.name;
}

function byName(agents: readonly Agent[]): ReadonlyMap<string, Agent> {
  const map = new Map<string, Agent>();
  for (const agent of agents) {
    const { name } = agent.profile;
    if (map.has(name)) throw new LangoError('invalid-config', `There are two agents named ${name}.`);
    map.set(name, agent);
  }
  return map;
}

function requireFirst(agents: ReadonlyMap<string, Agent>): string {
  const [name] = agents.keys();
  if (name !== undefined) return name;
  const hint = 'Name agents in a2a.publish that have tools, or leave it out.';
  throw new LangoError('invalid-config', 'This node would run no agent at all.', { hint });
}
