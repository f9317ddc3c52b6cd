import type { AgentLimits } from '../core/agent.js';
import { LangoError, errorText } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import { nameAtVendor, type ModelProvider, type Usage, type UsageRow } from '../core/model.js';
import type { Scope } from '../core/task.js';
import { toBill, type Meter } from './bill.js';

interface MeterRules {
  /** The name of this node on bills. */
  readonly node: string;
  readonly currency: string;
  /** Finds the price of a model by its id; undefined when it is not known in `currency`. */
  readonly priceOf: (model: string) => Meter['price'];
}

interface MetersOptions extends MeterRules {
  readonly limits: Pick<AgentLimits, 'cost' | 'ownerCostPerDay'>;
  /** The day on which the known prices were read. */
  readonly pricesRead: string;
  readonly logger: Logger;
}

/** The meter of a model, without a price where none is known. */
function meterFor(model: string, { node, currency, priceOf }: MeterRules): Meter {
  return { node, model, currency, price: priceOf(model) };
}

/** Returns the function that makes the meter of each model, which all agents with that model share. */
export function createMeters(options: MetersOptions): (model: ModelProvider) => Meter {
  const meters = new Map<string, Meter>();
  return ({ id, fallbacks = [] }) => {
    const [meter, ...others] = [id, ...fallbacks].map((each) => {
      const known = meters.get(each) ?? checkedMeter(each, options);
      meters.set(each, known);
      return known;
    });
    return { ...meter!, fallbacks: others };
  };
}

/** Throws `invalid-config` for a limit of cost with a model that has no price, because it could not be enforced. */
function checkedMeter(model: string, options: MetersOptions): Meter {
  const meter = meterFor(model, options);
  if (meter.price) return meter;
  const name = nameAtVendor(model);
  const { currency, pricesRead, limits, logger } = options;
  const text = `The price of the model ${name} is not known in ${currency} (known prices: ${pricesRead}).`;
  const hint = `Set prices.${name}: { input, output }, for a million tokens each.`;
  const limit = (['cost', 'ownerCostPerDay'] as const).find((one) => limits[one] !== undefined);
  if (limit) throw new LangoError('invalid-config', `${text} agent.limits.${limit} needs it.`, { hint });
  // A model of the program has no vendor in its name, and no list price.
  if (model.includes('/')) logger.warn(`${text} Bills have its tokens only. ${hint}`);
  return meter;
}

interface BackgroundOptions extends MeterRules {
  /** Counts a row on the bill of an owner. */
  readonly add: (scope: Scope, row: UsageRow) => Promise<void>;
  readonly logger: Logger;
}

/** Returns the function that puts model calls which no task made on the bill of an owner. It never throws. */
export function createBackgroundBill({ add, logger, ...rules }: BackgroundOptions) {
  return (scope: Scope, by: { readonly model: string; readonly agent: string }, usages: readonly Usage[]) => {
    const meter = meterFor(by.model, rules);
    for (const row of usages.flatMap((usage) => toBill(meter, by.agent, [{ usage }]).rows ?? [])) {
      add(scope, row).catch((error: unknown) => {
        logger.warn('a model call in the background is not on the bill', { error: errorText(error) });
      });
    }
  };
}
