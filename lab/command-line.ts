import { parseArgs } from 'node:util';

/** An option of a script: a switch when its default is false, otherwise an option with a value. */
interface Flag {
  readonly default: string | number | false;
  /** The line in the help text. */
  readonly text: string;
}

type Values<Flags extends Readonly<Record<string, Flag>>> = {
  readonly [Name in keyof Flags]: Flags[Name]['default'] extends false
    ? boolean
    : Flags[Name]['default'] extends number
      ? number
      : string;
};

/**
 * Reads the options of `npm run NAME`, or of `npm run NAME -- PROGRAM` where the name is "NAME PROGRAM". Ends the process after printing the help text for --help (exit code 0), or one
 * sentence about what is wrong (2).
 */
export function commandLine<const Flags extends Readonly<Record<string, Flag>>>(
  name: string,
  about: string,
  flags: Flags,
): Values<Flags> {
  const all = Object.entries<Flag>(flags);
  const [command, ...program] = name.split(' ');
  const usage = [`npm run ${command} --`, ...program].join(' ');
  const options = Object.fromEntries(
    all.map(([flag, { default: byDefault }]) => [
      flag,
      byDefault === false
        ? ({ type: 'boolean', default: false } as const)
        : ({ type: 'string', default: String(byDefault) } as const),
    ]),
  );
  try {
    const help = { type: 'boolean', short: 'h', default: false } as const;
    const values: Readonly<Record<string, unknown>> = parseArgs({
      args: process.argv.slice(2 + program.length),
      options: { ...options, help },
    }).values;
    if (values['help'] === true) {
      const lines = all.map(([flag, { default: byDefault, text }]) => {
        const isSwitch = byDefault === false;
        const head = `  --${flag}${isSwitch ? '' : typeof byDefault === 'number' ? ' N' : ' TEXT'}`;
        return head.padEnd(20) + text + (isSwitch || byDefault === '' ? '' : ` (default: ${byDefault})`);
      });
      console.log(`${usage} OPTIONS\n\n${about}\n\n${lines.join('\n')}`);
      process.exit(0);
    }
    return Object.fromEntries(
      all.map(([flag, { default: byDefault }]) => {
        const given = values[flag];
        if (typeof byDefault !== 'number') return [flag, given];
        const number = Number(given);
        if (given === '' || Number.isNaN(number)) throw new TypeError(`--${flag} takes a number`);
        return [flag, number];
      }),
    ) as Values<Flags>;
  } catch (error) {
    console.error(`${(error as Error).message}. See: ${usage} --help`);
    process.exit(2);
  }
}
