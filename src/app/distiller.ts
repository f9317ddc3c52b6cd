import type { Config } from '../config/config.js';
import type { Secrets } from '../config/secrets.js';
import type { Distiller, ModelProvider } from '../core/model.js';
import type { Logger } from '../core/logger.js';
import { createDistiller } from '../models/distiller.js';
import { createModel } from './model.js';

export interface DistillerSources {
  readonly config: Config;
  readonly secrets: Secrets;
  /** What a program brought in the place of the configured model. */
  readonly model: ModelProvider | undefined;
  readonly logger: Logger;
}

/** Asks the model of that name, or the one of the agents. Undefined with the offline model: it cannot sum up. */
export async function openDistiller(
  { config, secrets, model, logger }: DistillerSources,
  modelName: string | undefined,
): Promise<Distiller | undefined> {
  if (model) return createDistiller(model);
  if (config.model.provider === 'offline') return undefined;
  const name = modelName ?? config.model.name;
  const own = { ...config.model, ...(name === undefined ? {} : { name }) };
  return createDistiller(await createModel({ ...config, model: own }, secrets, logger));
}
