import { TRANSPORTS, type CommandContext } from './connection.js';
import { Option, type Command } from 'commander';
import type { Result } from '../terminal/terminal.js';

/** The flags of a command line, before a command says which ones it has. */
type Flags = Readonly<Record<string, unknown>>;

/** Runs a command and prints its result. */
export type Act = (command: (context: CommandContext) => Promise<Result>, flags: Flags) => Promise<void>;

type AnyCommand = (...given: never[]) => Promise<Result>;

/** The names of the commands that a module exports. */
type CommandIn<Module> = {
  [Name in keyof Module]: Module[Name] extends AnyCommand ? Name : never;
}[keyof Module];

/** Makes actions of a module's commands: functions of the arguments and a `Call`. The first action imports the module. */
export function actionsOf<Module>(act: Act, load: () => Promise<Module>) {
  return (name: CommandIn<Module>) =>
    (...given: unknown[]): Promise<void> => {
      // Commander adds the options and the command. A parent with the same options may have taken some of them.
      const flags = (given.at(-1) as Command).optsWithGlobals<Flags>();
      return act(async (context) => {
        const command = (await load())[name] as (...all: unknown[]) => Promise<Result>;
        return command(...given.slice(0, -2), { ...context, flags });
      }, flags);
    };
}

/** The heading of the shared options, which follow a command's own options in its help. */
const PLACE_HEADING = 'Where:';

const FOLDERS = [
  ['--home <folder>', 'data folder; default: LANGO_HOME, else ~/.lango'],
  ['--config <file>', 'configuration file; default: LANGO_CONFIG, else config.yaml in the data folder'],
] as const;
const SERVER = [
  ['--url <url>', 'address of the server; default: LANGO_URL, else as configured'],
  ['--token <token>', 'bearer token for the server; LANGO_TOKEN keeps it out of the process list'],
] as const;

/** Adds the options of a command that works on a data folder. */
export function withFolders(command: Command): Command {
  return addPlaces(command, FOLDERS);
}

/** Adds the options of a command that sends requests to a server. */
export function withServer(command: Command): Command {
  return addPlaces(command, [...SERVER, ...FOLDERS]);
}

/** Adds the options of a command that speaks A2A. */
export function withAgents(command: Command): Command {
  const text = 'use only this transport; default: the first one on the card';
  const transport = new Option('--transport <name>', text).choices(Object.keys(TRANSPORTS));
  return withServer(command).addOption(transport.helpGroup(PLACE_HEADING));
}

/** Adds the option of a command that prints a report. */
export function withJson(command: Command): Command {
  return command.option('--json', 'one JSON object');
}

/** Collects the values of an option that may be given several times. */
export function collect(value: string, others: readonly string[] = []): readonly string[] {
  return [...others, value];
}

/** Sorts the groups of a command's help: its own options first. */
export function ownFirst<T>(_all: readonly T[], visible: readonly T[], groupOf: (one: T) => string) {
  const groups = [...Map.groupBy(visible, groupOf)];
  return new Map(groups.sort(([a], [b]) => Number(a === PLACE_HEADING) - Number(b === PLACE_HEADING)));
}

function addPlaces(command: Command, options: readonly (readonly [string, string])[]): Command {
  for (const [flags, text] of options) command.addOption(new Option(flags, text).helpGroup(PLACE_HEADING));
  return command;
}
