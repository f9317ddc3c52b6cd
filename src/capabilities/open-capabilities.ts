import type { BackgroundModels, Capability, CapabilityContext } from '../core/capability.js';
import type { OpenCapability, SettingsContext, SettingsGroups } from '../core/capability.js';
import { LangoError } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import type { OperationHandlers, OperationTable } from '../core/operation.js';
import type { OwnedData } from '../core/page.js';
import { type Offer, ServiceRegistry, type Services } from '../core/service.js';
import type { SqlDatabase } from '../core/sql.js';
import type { ToolFamily } from '../core/tool-family.js';

interface OpenOptions {
  readonly capabilities: readonly Capability[];
  /** The services of the server itself. */
  readonly offers: readonly Offer[];
  /** Makes what a capability gets. The services of other capabilities are there once all are open. */
  readonly contextOf: (capability: Capability, services: Services) => CapabilityContext<SettingsGroups>;
}

const BODY_BYTES = 1024 * 1024;

/** The capabilities of a server, or of a data folder that a command has open. */
export class OpenCapabilities {
  readonly services: Services;
  readonly #opened: readonly OpenCapability[];
  #families: readonly ToolFamily[] = [];

  /** Opens all capabilities of the configuration. Throws `conflict` when two offer the same service. */
  constructor({ capabilities, offers, contextOf }: OpenOptions) {
    const services = new ServiceRegistry();
    offers.forEach((one) => services.add(one));
    this.services = services;
    this.#opened = capabilities.map((capability) => capability.open(contextOf(capability, services)));
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

/** Lets a capability ask for its own kinds of data only. */
export function keepingNodeFor(
  { name, keeps = {} }: Capability,
  findNode: CapabilityContext<SettingsGroups>['keepingNode'],
): CapabilityContext<SettingsGroups>['keepingNode'] {
  return (kind) => {
    if (Object.hasOwn(keeps, kind)) return findNode(kind);
    throw new LangoError('forbidden', `The capability ${name} keeps no data of the kind ${kind}.`, {
      hint: 'Name the kind in its keeps.',
    });
  };
}

/** Opens the capabilities without tables, for a command that only reads settings. Returns their services. */
export function servicesWithoutDatabase(
  capabilities: readonly Capability[],
  contextOf: (capability: Capability, services: Services) => SettingsContext<SettingsGroups>,
): Services {
  const { services } = new OpenCapabilities({
    capabilities: capabilities.filter(({ tables }) => tables === undefined),
    offers: [],
    contextOf: (capability, services) => ({
      ...contextOf(capability, services),
      database: NO_DATABASE,
      models: NO_MODELS,
      keepingNode: absent,
    }),
  });
  return services;
}

function absent(): never {
  throw new LangoError('unavailable', 'This command does not open the database.');
}

const NO_DATABASE = new Proxy({} as SqlDatabase, { get: absent });
const NO_MODELS: BackgroundModels = { distiller: async () => undefined, bill: absent };

/** Logs a warning for each family that is on and cannot work, and for each finding that an operator should know. */
export function logFindings(families: readonly ToolFamily[], logger: Logger): void {
  for (const { name, state, note = '', hint, findings = [] } of families) {
    if (state === 'missing') logger.warn(`no ${name} tools: ${note}`, { code: 'missing-tools', hint });
    for (const finding of findings.filter((each) => each.state === 'warn')) {
      logger.warn(finding.text, { code: finding.code, hint: finding.hint });
    }
  }
}
