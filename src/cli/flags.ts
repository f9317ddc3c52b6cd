import type { Command } from 'commander';
import { Option } from 'commander';

/** For a command that works on a data folder. */
export function withFolders(command: Command): Command {
  return command
    .option(
      '--config <file>',
      'configuration file; default: LANGO_CONFIG, else config.yaml in the data folder',
    )
    .option('--home <folder>', 'data folder; default: LANGO_HOME, else ~/.lango');
}

/** For a command that asks a server. */
export function withServer(command: Command): Command {
  return withFolders(command)
    .option('--url <url>', 'the server; default: LANGO_URL, else what the configuration says')
    .option('--token <token>', 'its bearer token; LANGO_TOKEN keeps it out of the list of processes');
}

/** For commands that speak the protocol itself. */
export function withAgents(command: Command): Command {
  return withServer(command).addOption(
    new Option('--transport <name>', 'speak nothing else; default: what the card names first').choices([
      'jsonrpc',
      'http',
      'grpc',
    ]),
  );
}

/** For an option that may be given several times. */
export function collect(value: string, others: readonly string[] = []): readonly string[] {
  return [...others, value];
}
