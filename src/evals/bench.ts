import type { LoadedConfig } from '../config/load.js';
import { trialConfig } from '../config/trial.js';
import type { DefinedAgent } from '../agents/defined-agent.js';
import { silentLogger } from '../core/logger.js';
import type { Tool } from '../core/tool.js';
import type { ModelEntry } from './case-file.js';
import { startNode, type CreateApp, type EvalNode } from './node.js';

export interface BenchOptions {
  /** Loads the configuration, with these as further models of `agent.models`. */
  readonly load: (models: Readonly<Record<string, ModelEntry>>) => Promise<LoadedConfig>;
  readonly createApp: CreateApp;
}

/** One server of a run. */
export interface Setting {
  /** Its data folder. */
  readonly home: string;
  readonly model: ModelEntry | undefined;
  /** A file with rules for all agents. */
  readonly instruction?: string | undefined;
  /** The most money that a task may cost. */
  readonly limit: number | undefined;
  readonly replaceTool?: (tool: Tool) => Tool;
  readonly agents?: readonly DefinedAgent[];
}

export type StartServer = (setting: Setting) => Promise<EvalNode>;

/** Loads the configuration once, with all models that are compared. Returns a function that starts servers with them. */
export async function createBench(
  entries: readonly ModelEntry[],
  { load, createApp }: BenchOptions,
): Promise<StartServer> {
  const names = new Map(entries.map((entry, index) => [entry, `evaluated-${index}`]));
  const loaded = await load(Object.fromEntries([...names].map(([entry, name]) => [name, entry])));
  const { models } = loaded.config.agent;
  const compared = new Set(names.values());
  const ofAgents = Object.entries(models).filter(([name]) => !compared.has(name));
  return async ({ home, model, instruction, limit, replaceTool = (tool) => tool, agents }) => {
    const { config, ...trial } = trialConfig(loaded, home);
    const { limits } = config.agent;
    const agent = {
      ...{ ...config.agent, models: Object.fromEntries(ofAgents) },
      ...(instruction !== undefined && { houseRulesFile: instruction }),
      limits: { ...limits, ...(limit !== undefined && { cost: Math.min(limits.cost ?? Infinity, limit) }) },
    };
    const choice = model === undefined ? undefined : models[names.get(model)!];
    const all = { ...config, agent, model: { ...config.model, ...choice } };
    return startNode(createApp, { ...trial, config: all, logger: silentLogger, replaceTool, agents });
  };
}
