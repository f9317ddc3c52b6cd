import type { Command } from 'commander';
import type { Capability } from '../core/capability.js';
import type { Command as CapabilityCommand, CommandCall } from '../core/command.js';
import { LangoError } from '../core/errors.js';
import { silentLogger } from '../core/logger.js';
import type { Result } from '../terminal/terminal.js';
import { loadConfigOf, type Call } from './connection.js';
import { actionsOf, collect, withFolders, withJson, withServer, type Act } from './flags.js';
import { withOwner, type OwnerFlags } from './owner-client.js';

/** Adds the commands of capabilities, below the words that they begin with. */
export function addCapabilityCommands(program: Command, capabilities: readonly Capability[], act: Act): void {
  for (const capability of capabilities)
    for (const command of capability.commands ?? []) {
      const made = addCommand(program, command);
      if (!command.run) continue;
      const load = async () => ({
        run: (...all: unknown[]): Promise<Result> =>
          command.run!(callOf(capability, all.pop() as Call<OwnerFlags>), ...(all as never[])),
      });
      made.action(actionsOf(act, load)('run'));
    }
}

function addCommand(program: Command, command: CapabilityCommand): Command {
  const { usage, description, options = [], works } = command;
  const isArgument = (word: string) => /^[<[]/.test(word);
  let made = program;
  for (const name of usage.split(' ').filter((word) => !isArgument(word)))
    made = made.commands.find((one) => one.name() === name) ?? made.command(name);
  made.description(description);
  if (!command.run) return made;
  for (const argument of usage.split(' ').filter(isArgument))
    made.argument(argument, command.arguments?.[argument.replace(/[^a-z-]/gi, '')] ?? '');
  withJson(made);
  for (const { flags, description: text, isRepeated } of options) {
    if (isRepeated) made.option(flags, text, collect);
    else made.option(flags, text);
  }
  if (works === 'owner') made.option('--owner <name>', OWNER);
  return works === 'folder' ? withFolders(made) : withServer(made);
}

const OWNER =
  "without a running server: the owner, as the audit log writes it; default: the owner of the server's own token";

function callOf(capability: Capability, call: Call<OwnerFlags>): CommandCall<never> {
  const { flags, terminal } = call;
  return {
    ...{ flags: flags as Readonly<Record<string, unknown>>, terminal },
    withOwner: (table, use) => withOwner(table, call, use),
    async readSettings() {
      const loaded = await loadConfigOf(call);
      const { settingsServices, settingsContext } = await import('../app.js');
      const services = settingsServices(loaded, silentLogger);
      return settingsContext(capability, { ...loaded, services, logger: silentLogger }) as never;
    },
    async inFolder(use) {
      const { openHome } = await import('../app.js');
      await using home = await openHome(await loadConfigOf(call), { logger: silentLogger });
      if (home) return await use(home.services);
      const hint = 'Stop it, run this command, and start it again.';
      throw new LangoError('conflict', 'A server has the data folder open.', { hint });
    },
  };
}
