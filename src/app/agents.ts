import os from 'node:os';
import { dirname, sep } from 'node:path';
import { agentFindings, assertAgentNames, prefixFindings } from '../agents/agent-findings.js';
import { extendRoster } from '../agents/agent-specs.js';
import { Attachments } from '../agents/attachments.js';
import type { DefinedAgent } from '../agents/defined-agent.js';
import { createMeters } from '../agents/meters.js';
import { buildNodeAgents, nameOf } from '../agents/node-agents.js';
import { roleOf, withAssignedTools } from '../agents/partition.js';
import type { Additions, PromptTexts } from '../agents/prompts.js';
import { warnOfUnknownTools } from '../agents/tool-work.js';
import { agentLimits, groupsOf, hasSeveralOwners } from '../config/config.js';
import type { LoadedConfig } from '../config/load.js';
import { modelNamed, type ModelChoice } from '../config/models.js';
import { unusedListFindings, usedRemoteAgents } from '../config/remote-agents.js';
import type { Agent } from '../core/agent.js';
import type { Finding } from '../core/findings.js';
import { nameAtVendor, type ModelProvider } from '../core/model.js';
import type { Run } from '../core/run.js';
import type { Scope } from '../core/task.js';
import type { Tool, ToolSource } from '../core/tool.js';
import { workFolders } from '../disk/disk.js';
import { isOperator } from '../http/identity.js';
import { describeProxies } from '../http/proxy.js';
import { withFallbacks } from '../models/fallback.js';
import { PRICES_READ, priceOf } from '../models/prices.js';
import { createProvider } from '../models/providers.js';
import { egressOf, type Parts } from './node.js';

type ModelContext = Parts<'config' | 'secrets' | 'schema' | 'settings' | 'logger'>;

/** Makes the provider of a configured model, with its fallbacks. */
export async function createModel(choice: ModelChoice, context: ModelContext): Promise<ModelProvider> {
  const { config, secrets, schema, logger } = context;
  const parts = {
    ...{ secrets, logger, createFetch: egressOf(context) },
    folders: [...(config.file ? [dirname(config.file)] : []), config.home, process.cwd()],
    offline: () => {
      const { roster: specs, assigned } = agentNaming(context);
      const roster = withAssignedTools(specs, assigned);
      const sentences = schema.capabilities.flatMap((one) => one.sentences ?? []);
      return { sentences, agentOf: (tool: string) => roleOf(tool, roster) };
    },
  };
  const providers = await Promise.all(
    [choice, ...choice.fallbacks].map((each) => createProvider(each, parts)),
  );
  return withFallbacks(providers, { logger, asksAfterRefusal: config.model.fallbackOnRefusal });
}

/** Makes the models of the agents; `given` replaces the configured `model`. Agents with equal settings share a model. */
export async function openModels(given: ModelProvider | undefined, context: ModelContext) {
  const { config, logger } = context;
  const model = given ?? (await createModel(config.model, context));
  if (!given) logger.info('model chosen', { model: model.id, reason: config.model.reason });
  const proxies = describeProxies(context.settings.egress);
  if (proxies) logger.info('outgoing requests go through a proxy', { proxies });
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

type AgentParts = Parts<
  'config' | 'secrets' | 'schema' | 'settings' | 'storage' | 'families' | 'parsers' | 'logger'
> &
  Parts<'model' | 'models' | 'peers' | 'guard'>;

/** The parts of the agents that a program brings which uses Lango as a library. */
export interface ProgramParts {
  /** Agents of the program: published like those of the roster, and sub-agents too. */
  readonly agents?: readonly (Agent | DefinedAgent)[] | undefined;
  /** Tools besides those of the shipped families. The prefix of a tool's name decides which agent gets it. */
  readonly tools?: readonly Tool[] | undefined;
  /** Replaces tools: it gets each one once, and returns what is used in its place. */
  readonly replaceTool?: ((tool: Tool) => Tool) | undefined;
  /** Text that is added to the instruction of a run when it starts (requirement O8). */
  readonly additions?: Additions | undefined;
}

/** Makes the agents of this node, and adds those of the program. Throws `invalid-config` when they cannot run together. */
export function createAgents(node: AgentParts, given: ProgramParts & { readonly prompts: PromptTexts }) {
  const { config, families, model, peers, parsers, logger } = node;
  const { nodeId, spending } = node.storage;
  const { agents = [], tools: ofProgram = [], additions, prompts } = given;
  const replace = replacedOnce(given.replaceTool ?? ((tool) => tool));
  const own = agents.map((agent) => ('run' in agent ? agent : { ...agent, tools: agent.tools.map(replace) }));
  const ofFamilies = families.flatMap((family) => family.tools).map(replace);
  const tools = [...ofFamilies, ...ofProgram.map(replace)];
  const sources = families
    .flatMap((family) => family.sources ?? [])
    .map((one) => replacingSource(one, replace));
  const defined = own.flatMap((agent) => ('run' in agent ? [] : agent));
  const allTools = [...new Set([...tools, ...defined.flatMap((agent) => agent.tools)])];
  warnOfUnknownTools(config.approval.policy, { tools: allTools, sources }, logger);
  const naming = agentNaming(node);
  assertAgentNames(naming, own.map(nameOf));
  const limits = agentLimits(config);
  const folders = workFolders(config, hasSeveralOwners(config.auth));
  const ownModels = defined.flatMap((one) => (one.model ? [[one.name, one.model] as const] : []));
  const options = {
    ...naming,
    ...{ model, peers, nodeId, spending, additions, prompts, secrets: node.guard, tools, sources, logger },
    models: new Map([...ownModels, ...node.models]),
    /** Finds a model by name: one that an agent has, else one of the configured vendor. */
    async modelNamed(name: string) {
      const known = [model, ...node.models.values()];
      const found = known.find(({ id }) => id === name || nameAtVendor(id) === name);
      return found ?? createModel(modelNamed(name, config.model), node);
    },
    meterOf: createMeters({ ...meterRules(node), limits, pricesRead: PRICES_READ, logger }),
    attachments: new Attachments((document, call) => parsers.parse('text', document, call)),
    memories: families.flatMap(({ memory }) => memory ?? []),
    limits,
    showsReasons: ({ task, grant }: Pick<Run, 'task' | 'grant'>) =>
      isOperator(config.auth, { owner: task.owner, scopes: grant.scopes }),
    approval: config.approval.policy,
    shipped: new Set(ofFamilies),
    describedTools: config.agent.describedTools,
    surroundings: {
      system: `${os.type()} (${os.arch()})`,
      // The address of the data folder, which may hold a person's name, is no matter of vendors.
      workspace(scope: Scope) {
        const [first] = folders.of(scope);
        return first?.startsWith(config.home + sep) ? undefined : first;
      },
    },
  };
  return { ...buildNodeAgents(options, own), tools: allTools };
}

/** Makes a function that replaces a tool that it gets again by the same one. */
function replacedOnce(replaceTool: (tool: Tool) => Tool): (tool: Tool) => Tool {
  const made = new WeakMap<Tool, Tool>();
  return (tool) => {
    const known = made.get(tool) ?? replaceTool(tool);
    made.set(tool, known);
    return known;
  };
}

function replacingSource(source: ToolSource, replace: (tool: Tool) => Tool): ToolSource {
  return {
    kind: source.kind,
    refresh: (scope) => source.refresh(scope),
    prepare: (scope) => source.prepare(scope),
    list: (scope) => source.list(scope).map(replace),
  };
}

/** Finds wrong names of agents, for `config check`: a start with them fails, or leaves out remote agents. */
export function namingFindings(loaded: LoadedConfig): readonly Finding[] {
  const remotes = usedRemoteAgents(loaded).map(({ agent }) => agent.name);
  const { multiAgent, ownAgents } = loaded.config.agent;
  return [
    ...agentFindings(agentNaming(loaded), remotes),
    ...unusedListFindings(loaded),
    ...(multiAgent ? prefixFindings(ownAgents) : []),
  ];
}

/** All settings that name agents. */
function agentNaming({ config, schema, settings }: Parts<'config' | 'schema' | 'settings'>) {
  const { multiAgent, roster, ownAgents, models } = config.agent;
  return {
    multiAgent,
    roster: extendRoster(roster, ownAgents),
    publish: config.a2a.publish,
    modelNames: Object.keys(models),
    assigned: schema.capabilities.flatMap((one) => one.assigns?.(groupsOf(one, settings)) ?? []),
  };
}

/** The names and prices on bills. */
export function meterRules({ config, storage }: Parts<'config' | 'storage'>) {
  const { currency } = config.bill;
  return { node: storage.nodeId, currency, priceOf: (model: string) => priceOf(model, config) };
}
