import { Argument, type Command } from 'commander';
import type { Capability } from '../core/capability.js';
import { forgettable } from './data.js';
import { actionsOf, withServer, type Act } from './flags.js';

/** `lango data` */
export function addDataCommands(data: Command, capabilities: readonly Capability[], act: Act): void {
  const action = actionsOf(act, () => import('./data.js'));
  const add = (name: string): Command =>
    withServer(data.command(name)).option('--json', 'print the counts as JSON');

  add('export')
    .description('write all your data as JSON')
    .option('--out <file>', 'write to this new file instead of standard output')
    .action(action('exportData'));
  add('forget')
    .description('delete one item for good; for documents use: lango ingest remove')
    .addArgument(new Argument('<kind>', 'the kind of data').choices([...forgettable(capabilities).keys()]))
    .argument(
      '<name>',
      'the id of a context, the name of an entry or skill, the path of a file, or the text of a fact',
    )
    .action(action('forgetData'));
  add('delete')
    .description('delete all your data for good')
    .option('--yes', 'required: confirms the deletion')
    .action(action('deleteData'));
}
