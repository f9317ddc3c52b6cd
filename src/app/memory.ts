import type { Config } from '../config/config.js';
import type { Secrets } from '../config/secrets.js';
import type { Distiller } from '../core/distiller.js';
import type { Logger } from '../core/logger.js';
import type { Remembering } from '../core/memory.js';
import type { ModelProvider } from '../core/model.js';
import type { Storage } from '../core/store.js';
import type { ToolFamily } from '../core/tool.js';
import { createDistiller } from '../models/distiller.js';
import { createObservationalMemory } from '../tools/memory/index.js';
import { createModel } from './model.js';

export interface MemoryContext {
  readonly config: Config;
  readonly secrets: Secrets;
  readonly storage: Storage;
  /** What a program brought in the place of the configured model. */
  readonly model: ModelProvider | undefined;
  readonly logger: Logger;
}

export interface Memory {
  readonly family: ToolFamily;
  /** Undefined when it is switched off. */
  readonly remembering?: Remembering;
}

/** Requirement B3: observations and reflections by their switch. */
export async function openMemory(context: MemoryContext): Promise<Memory> {
  const { observationalMemory } = context.config;
  const name = 'observational memory';
  if (!observationalMemory.enabled) {
    const hint = 'Set observationalMemory.enabled.';
    return { family: { name, state: 'off', tools: [], note: 'switched off', hint } };
  }
  const { storage, logger } = context;
  const distiller = await distillerOf(context);
  const options = { ...observationalMemory, memory: storage.memory, tasks: storage.tasks, distiller, logger };
  const own = createObservationalMemory(options);
  const note = `noted by ${distiller?.by ?? 'plain rules (offline model)'}`;
  return {
    family: { name, state: 'on', tools: own.tools, note, close: () => own.close() },
    remembering: own.remembering,
  };
}

/** The offline model cannot sum up: then plain rules do. */
async function distillerOf({
  config,
  secrets,
  model,
  logger,
}: MemoryContext): Promise<Distiller | undefined> {
  if (model) return createDistiller(model);
  if (config.model.provider === 'offline') return undefined;
  const name = config.observationalMemory.model ?? config.model.name;
  const own = { ...config.model, ...(name === undefined ? {} : { name }) };
  return createDistiller(await createModel({ ...config, model: own }, secrets, logger));
}
