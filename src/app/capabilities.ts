import { createBackgroundBill } from '../agents/meters.js';
import { groupsOf, hasSeveralOwners, type Config } from '../config/config.js';
import { readEnv } from '../config/env.js';
import type { LoadedConfig } from '../config/load.js';
import type {
  BackgroundModels,
  Capability,
  NodeFacts,
  OpenCapability,
  SettingsContext,
  SettingsGroups,
} from '../core/capability.js';
import { LangoError } from '../core/errors.js';
import { KEEPING_NODE } from '../core/keeping-nodes.js';
import type { Logger } from '../core/logger.js';
import type { ModelProvider, UsageRow } from '../core/model.js';
import type { OperationHandlers, OperationTable } from '../core/operation.js';
import type { OwnedData } from '../core/page.js';
import { offer, ServiceRegistry, type Services } from '../core/service.js';
import type { SqlDatabase } from '../core/sql.js';
import type { Scope } from '../core/task.js';
import type { ToolFamily } from '../core/tool-family.js';
import { DISK } from '../disk/disk.js';
import { createDistiller } from '../models/distiller.js';
import { PARSERS } from '../parsing/parsers.js';
import { withOwnTables } from '../storage/own-tables.js';
import { TASKS } from '../stores/tasks.js';
import { createModel, meterRules } from './agents.js';
import { ownOwner } from '../http/identity.js';
import { egressOf, type Parts } from './node.js';
import { keepingNodesOf } from './peers.js';
import { createDisk, isShipped } from './stores.js';

/** `model`: that of the program that uses Lango as a library; undefined for the configured one. */
interface CapabilityParts extends LoadedConfig, Parts<'storage' | 'parsers' | 'keys' | 'logger'> {
  readonly model?: ModelProvider | undefined;
}

const BODY_BYTES = 1024 * 1024;

/** The capabilities of a server, or of a data folder that a command has open. */
export class OpenCapabilities {
  readonly services: Services;
  readonly #opened: readonly OpenCapability[];
  #families: readonly ToolFamily[] = [];

  /** Opens all capabilities of the configuration. Throws `conflict` when two offer the same service. */
  constructor(parts: CapabilityParts) {
    const services = new ServiceRegistry();
    services.add(offer(PARSERS, parts.parsers));
    services.add(offer(DISK, createDisk(parts.config)));
    services.add(offer(TASKS, parts.storage.tasks));
    services.add(offer(KEEPING_NODE, keepingNodesOf(parts)));
    this.services = services;
    const { database } = parts.storage;
    const models = createBackgroundModels(parts);
    this.#opened = parts.schema.capabilities.map((capability) =>
      capability.open({
        ...settingsContext(capability, { ...parts, services }),
        database: isShipped(capability) ? database : withOwnTables(database, capability.name),
        models,
      }),
    );
    this.#opened.flatMap(({ offers = [] }) => offers).forEach((one) => services.add(one));
  }

  get ownedData(): readonly OwnedData[] {
    return this.#opened.flatMap(({ ownedData }) => ownedData ?? []);
  }

  /** The implementations of the operations of all capabilities. */
  get operations(): OperationHandlers<OperationTable> {
    return Object.assign(
      {},
      ...this.#opened.map(({ operations }) => operations),
    ) as OperationHandlers<OperationTable>;
  }

  /** The largest body of an operation that takes bytes. */
  bodyBytes(operation: string): number {
    const owner = this.#opened.find(({ operations }) => operations && operation in operations);
    return owner?.bodyBytes ?? BODY_BYTES;
  }

  /** Makes the tools of all capabilities at the same time. Rejects when one fails, once the others are open. Call it once. */
  async openFamilies(): Promise<readonly ToolFamily[]> {
    const results = await Promise.allSettled(this.#opened.map(async (one) => (await one.families?.()) ?? []));
    this.#families = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
    const failure = results.find((result) => result.status === 'rejected');
    if (failure) throw failure.reason;
    return this.#families;
  }

  async close(): Promise<void> {
    for (const family of this.#families) await family.close?.();
    for (const one of this.#opened) await one.close?.();
  }
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
export function servicesWithoutDatabase(loaded: LoadedConfig, logger: Logger): Services {
  const services = new ServiceRegistry();
  for (const capability of loaded.schema.capabilities.filter(({ tables }) => tables === undefined)) {
    const context = settingsContext(capability, { ...loaded, services, logger });
    const { offers = [] } = capability.open({ ...context, database: NO_DATABASE, models: NO_MODELS });
    offers.forEach((one) => services.add(one));
  }
  return services;
}

function absent(): never {
  throw new LangoError('unavailable', 'This command does not open the database.');
}

const NO_DATABASE = new Proxy({} as SqlDatabase, { get: absent });
const NO_MODELS: BackgroundModels = { distiller: async () => undefined, bill: absent };

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

function factsOf(config: Config): NodeFacts {
  const { auth, agent, a2a, approval } = config;
  return {
    home: config.home,
    hasSeveralOwners: hasSeveralOwners(auth),
    ownOwner: ownOwner(auth),
    runsAgent: (name) => !agent.multiAgent || (a2a.publish?.includes(name) ?? true),
    needsApproval: (tool) =>
      Array.isArray(approval.policy) ? approval.policy.includes(tool) : approval.policy !== 'none',
    environment: readEnv().variables,
  };
}

/** Logs a warning for each family that is on and cannot work, and for each finding that an operator should know. */
export function logFindings(families: readonly ToolFamily[], logger: Logger): void {
  for (const { name, state, note = '', hint, findings = [] } of families) {
    if (state === 'missing') logger.warn(`no ${name} tools: ${note}`, { code: 'missing-tools', hint });
    for (const finding of findings.filter((each) => each.state === 'warn')) {
      logger.warn(finding.text, { code: finding.code, hint: finding.hint });
    }
  }
}
