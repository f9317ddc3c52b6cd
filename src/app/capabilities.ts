import { runsAgent } from '../agents/agent-tree.js';
import { createBackgroundBill } from '../agents/meters.js';
import { asksBefore } from '../agents/tool-permission.js';
import { isShipped } from '../capabilities/index.js';
import {
  keepingNodeFor,
  OpenCapabilities,
  servicesWithoutDatabase,
} from '../capabilities/open-capabilities.js';
import { groupsOf, hasSeveralOwners, type Config } from '../config/config.js';
import { readEnv } from '../config/env.js';
import type { LoadedConfig } from '../config/load.js';
import type { BackgroundModels, Capability, NodeFacts } from '../core/capability.js';
import type { SettingsContext, SettingsGroups } from '../core/capability.js';
import type { Logger } from '../core/logger.js';
import type { ModelProvider, UsageRow } from '../core/model.js';
import { offer, type Services } from '../core/service.js';
import type { Scope } from '../core/task.js';
import { DISK, openDisk } from '../disk/disk.js';
import { ownOwner } from '../http/identity.js';
import { createDistiller } from '../models/distiller.js';
import { PARSERS } from '../parsing/parsers.js';
import { withOwnTables } from '../storage/capability-tables.js';
import { TASKS } from '../stores/tasks.js';
import { createModel, meterRules } from './agents.js';
import { egressOf, type Parts } from './node.js';
import { keepingNodesOf } from './peers.js';

/** `model`: that of the program that uses Lango as a library; undefined for the configured one. */
interface CapabilityParts extends LoadedConfig, Parts<'storage' | 'parsers' | 'keys' | 'logger'> {
  readonly model?: ModelProvider | undefined;
}

/** Opens all capabilities of the configuration. Throws `conflict` when two offer the same service. */
export function openCapabilities(parts: CapabilityParts): OpenCapabilities {
  const { config, schema, storage, parsers } = parts;
  const models = createBackgroundModels(parts);
  const findNode = keepingNodesOf(parts);
  return new OpenCapabilities({
    capabilities: schema.capabilities,
    offers: [
      offer(PARSERS, parsers),
      offer(DISK, openDisk(config, hasSeveralOwners(config.auth))),
      offer(TASKS, storage.tasks),
    ],
    contextOf: (capability, services) => ({
      ...settingsContext(capability, { ...parts, services }),
      database: isShipped(capability) ? storage.database : withOwnTables(storage.database, capability.name),
      models,
      keepingNode: keepingNodeFor(capability, findNode),
    }),
  });
}

/** Makes the models that capabilities use in the background, on the bills of the owners of the texts. */
function createBackgroundModels(parts: CapabilityParts): BackgroundModels {
  const { config, storage, model: given, logger } = parts;
  const add = (scope: Scope, row: UsageRow) => storage.spending.addBackground(scope, row);
  const bill = createBackgroundBill({ ...meterRules(parts), add, logger });
  return {
    bill: (scope, by, usage) => bill(scope, by, [usage]),
    async distiller(name, agent) {
      if (!given && config.model.provider === 'offline') return undefined;
      const own = { ...config.model, name: name ?? config.model.name };
      const asked = given ?? (await createModel(own, parts));
      return createDistiller(asked, (scope, usages) => bill(scope, { model: asked.id, agent }, usages));
    },
  };
}

/** The services of the capabilities without a database, for a command that only reads settings. */
export function settingsServices(loaded: LoadedConfig, logger: Logger): Services {
  return servicesWithoutDatabase(loaded.schema.capabilities, (capability, services) =>
    settingsContext(capability, { ...loaded, services, logger }),
  );
}

/** The parts of the server that a capability gets, besides its database. */
export function settingsContext(
  capability: Capability,
  parts: Parts<'config' | 'settings' | 'logger'> & { readonly services: Services },
): SettingsContext<SettingsGroups> {
  const { config, settings, services, logger } = parts;
  return {
    settings: groupsOf(capability, settings),
    node: factsOf(config),
    createFetch: egressOf(parts),
    allowPrivate: config.egress.allowPrivate,
    services,
    logger,
  };
}

function factsOf({ home, auth, agent, a2a, approval }: Config): NodeFacts {
  return {
    home,
    hasSeveralOwners: hasSeveralOwners(auth),
    ownOwner: ownOwner(auth),
    runsAgent: (name) => runsAgent(name, { multiAgent: agent.multiAgent, publish: a2a.publish }),
    needsApproval: (tool) => asksBefore(tool, approval.policy),
    // Few capabilities need it, and reading takes a tenth of the start of a server when each gets it.
    get environment() {
      return readEnv().variables;
    },
  };
}
