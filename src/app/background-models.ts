import { toBill } from '../agents/bill.js';
import type { LoadedConfig } from '../config/load.js';
import type { BackgroundModels } from '../core/capability.js';
import { errorText } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import type { ModelProvider, Usage } from '../core/model.js';
import type { Scope } from '../core/task.js';
import { createDistiller } from '../models/distiller.js';
import type { Storage } from '../stores/storage.js';
import { createModel, meterFor } from './agents.js';

interface ModelParts extends LoadedConfig {
  readonly storage: Pick<Storage, 'nodeId' | 'spending'>;
  /** The model of the program that uses Lango as a library; undefined for the configured one. */
  readonly model?: ModelProvider | undefined;
  readonly logger: Logger;
}

/** Makes the models that capabilities use in the background, on the bills of the owners of the texts. */
export function createBackgroundModels(parts: ModelParts): BackgroundModels {
  const { config, storage, model: given, logger } = parts;
  const billFor = (model: string, agent: string) => {
    const meter = meterFor(model, { config, nodeId: storage.nodeId });
    return (scope: Scope, usages: readonly Usage[]): void => {
      for (const row of usages.flatMap((usage) => toBill(meter, agent, [{ usage }]).rows ?? [])) {
        storage.spending.addBackground(scope, row).catch((error: unknown) => {
          logger.warn('a model call in the background is not on the bill', { error: errorText(error) });
        });
      }
    };
  };
  return {
    bill: (scope, { model, agent }, usage) => billFor(model, agent)(scope, [usage]),
    async distiller(name, agent) {
      if (!given && config.model.provider === 'offline') return undefined;
      const own = { ...config.model, name: name ?? config.model.name };
      const asked = given ?? (await createModel(own, parts));
      return createDistiller(asked, billFor(asked.id, agent));
    },
  };
}
