import { choicesIn, type ModelChoice } from '../config/models.js';
import { nameAtVendor } from '../core/model.js';
import { safeLine } from '../terminal/safe-text.js';
import type { Report } from '../terminal/terminal.js';
import { loadConfigOf, type Call, type FolderFlags } from './connection.js';

interface ModelsFlags extends FolderFlags {
  /** Lists all models that this version knows in place of the configured ones. */
  readonly known?: boolean;
}

/** `lango models`: the models of the configuration with their prices and windows, and which of them have no price. */
export async function models(call: Call<ModelsFlags>): Promise<Report> {
  // Loaded on use: the other commands need no part of a server.
  const [{ config }, table] = await Promise.all([loadConfigOf(call), import('../app.js')]);
  const { currency } = config.bill;
  // `keys` are the places of the configuration that name the model. What is not known is null.
  const rowOf = (id: string, choices: ReturnType<typeof choicesIn> = []) => ({
    keys: choices.map(([key]) => key),
    model: id,
    price: table.priceOf(id, config) ?? null,
    windowTokens: choices[0]?.[1].windowTokens ?? table.windowTokensOf(nameAtVendor(id)) ?? null,
  });
  const rows = call.flags.known
    ? table.knownModelNames().map((name) => rowOf(name))
    : Object.entries(Object.groupBy(choicesIn(config), ([, choice]) => idOf(choice))).map(
        ([id, named = []]) => rowOf(id, named),
      );
  const unpriced = rows.filter(({ price }) => price === null).map(({ model }) => model);
  const width = Math.max(...rows.map(({ model }) => safeLine(model).length), 0);
  return {
    json: { currency, pricesRead: table.PRICES_READ, models: rows, unpriced },
    lines: rows.map(({ model, price, windowTokens: tokens, keys }) => {
      const cost = price ? `${price.input} in, ${price.output} out ${currency}` : 'no price';
      const window = tokens === null ? 'window unknown' : `${tokens.toLocaleString('en-US')} tokens`;
      const places = keys.length > 0 ? `  (${keys.join(', ')})` : '';
      return safeLine(`${model.padEnd(width)}  ${cost.padEnd(24)}  ${window}${places}`);
    }),
    notes: unpriced.map((model) => {
      const key = `prices.${model.replace(/^\w+\//, '')}`;
      return safeLine(`${model} has no price: bills have its tokens only. Set ${key}.`);
    }),
  };
}

const idOf = ({ provider, name }: ModelChoice): string =>
  name === undefined ? provider : `${provider}/${name}`;
