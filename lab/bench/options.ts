import { parseArgs } from 'node:util';

export interface Options {
  readonly quick: boolean;
  readonly json: boolean;
  /** Whether a missed target is an error. */
  readonly check: boolean;
  /** The number of turns of each server; undefined for the default of the mode. */
  readonly rounds: number | undefined;
  /** Names of scenarios, in the order they run. */
  readonly only: readonly string[];
}

/** Scenarios are arguments, or names with commas in `--only`. Throws a `TypeError` that says what is wrong. */
export function parseOptions(args: readonly string[], scenarios: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      only: { type: 'string' },
    },
  });
  const named = [...positionals, ...(values.only?.split(',') ?? [])];
  const only = named.length > 0 ? named : scenarios;
  const unknown = only.find((name) => !scenarios.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(`there is no scenario ${unknown}: there are ${scenarios.join(', ')}`);
  }
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
  if (rounds !== undefined && !(Number.isInteger(rounds) && rounds >= 1 && rounds <= MAX_ROUNDS)) {
    throw new TypeError(`--rounds must be a whole number from 1 to ${MAX_ROUNDS}`);
  }
  return { quick: values.quick, json: values.json, check: values.check, rounds, only };
}

const MAX_ROUNDS = 100;
