import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { packageVersion } from '../config/package-root.js';
import { TASK_STATES } from '../core/task-states.js';
import { usageError } from '../terminal/exit.js';
import type { Act } from './flags.js';
import { actionsOf, collect, ownFirst, withAgents, withFolders, withJson, withServer } from './flags.js';
import type { Capability } from '../core/capability.js';
import { addCapabilityCommands } from './capability-commands.js';
import { forgettable } from './data.js';

const PORT = wholeNumber(0, 65_535);
const PAGE = wholeNumber(1, 100);
const DEFAULT_PAGE = 20;
const PARALLEL = wholeNumber(1, 100);
const DEFAULT_PARALLEL = 4;
const EVENT = wholeNumber(1, 1_000_000_000);

/** Every command with its flags. */
export function createProgram(act: Act, capabilities: readonly Capability[]): Command {
  const program = new Command('lango')
    .description('An A2A-native agent server, and its client.')
    .version(packageVersion(), '-v, --version')
    .option('--debug', 'show the stack of an error')
    .configureHelp({ groupItems: ownFirst })
    .hook('preAction', (_program, command) => refuseEmptyValues(command));

  withFolders(program.command('serve').description('run the server'))
    .option('--host <address>', 'address to listen on')
    .option('--port <number>', 'port to listen on; 0 takes a free one', PORT)
    .option('--json', 'print one line of JSON when the server is ready')
    .option('--accept-damage', 'start although acknowledged data is missing in the database')
    .action(actionsOf(act, () => import('./serve.js'))('serve'));

  withAgents(program.command('send').argument('[text...]', 'the request; - reads it from standard input'))
    .description('send one request and show the answer')
    .option('--agent <name>', 'the agent; default: the root agent')
    .option('--file <path>', 'send this file along; repeatable', collect)
    .option('--out <folder>', 'save the files and data that the agent makes')
    .option('--context <id>', 'continue this conversation')
    .option('--task <id>', 'reply to or follow up on this task')
    .option('--stream', 'show everything as it happens (default on a terminal)')
    .option('--no-stream', 'show only the answer (default elsewhere)')
    .option('--json', 'one JSON object; with --stream a line of JSON for each event')
    .option('-y, --yes', 'approve all calls that wait for approval')
    .option('--no-input', 'never ask on the terminal')
    .option('--approve <hash>', 'approve the call with this hash, which --task waits for', collect)
    .option('--deny <hash>', 'deny the call with this hash, which --task waits for', collect)
    .option('--reason <text>', 'with --deny: the reason, which the agent is told')
    .action(actionsOf(act, () => import('./send.js'))('send'));

  withAgents(program.command('chat').description('talk in one conversation'))
    .option('--out <folder>', 'save the files and data that agents make')
    .option('--agent <name>', 'the agent; default: the root agent')
    .action(actionsOf(act, () => import('./chat.js'))('chat'));

  withServer(withJson(program.command('console')))
    .description('open the web console in the browser, signed in')
    .option('--no-open', 'only print the link, which works once')
    .action(actionsOf(act, () => import('./console.js'))('openConsole'));

  addAgentCommands(program.command('agents'), act);

  withServer(program.command('card').description('show an agent card, or check it'))
    .argument(
      '[name]',
      'the agent, or the address of a card; with --check also a file; default: the root agent',
    )
    .option('--check', 'report what is wrong with the card, and why; ends with 1 on an error')
    .option('--verify', 'check its signature with the keys of its server, and show its hash')
    .option('--keys <file>', 'check its signature with the keys (JWKS) of a file')
    .option('--json', 'the card as it is served, or the findings')
    .action(actionsOf(act, () => import('./card.js'))('card'));

  withServer(withJson(program.command('bill')))
    .description('show the tokens and the money that your tasks cost')
    .addOption(
      new Option('--by <what>', 'group by this')
        .choices(['agent', 'model', 'day', 'node', 'owner'])
        .default('model'),
    )
    .action(actionsOf(act, () => import('./bill.js'))('bill'));

  withFolders(withJson(program.command('models')))
    .description('show the models of the configuration, their prices and windows, and which have no price')
    .option('--known', 'show all models that this version knows instead')
    .action(actionsOf(act, () => import('./models.js'))('models'));

  const group = (name: string, description: string) => program.command(name).description(description);
  addTaskCommands(group('tasks', 'list, read, watch and cancel tasks'), act);
  addReplayCommands(program, act);
  addEvalCommands(program, act);
  addDataCommands(group('data', 'export, forget and delete your data'), capabilities, act);
  addKeyCommands(group('keys', 'list and rotate the keys that this node signs with'), act);
  withServer(group('mcp', 'use the tools of MCP servers, and offer agents as tools').command('serve'))
    .description('offer the agents of the running server to an MCP client, over standard input and output')
    .action(actionsOf(act, () => import('./mcp-serve.js'))('serveMcp'));
  addCapabilityCommands(program, capabilities, act);
  addConfigCommands(group('config', 'check and show the configuration'), act);
  addOperatingCommands(program, act);
  throwErrors(program, 'lango');
  return program;
}

function addAgentCommands(agents: Command, act: Act): void {
  const action = actionsOf(act, () => import('./agents.js'));
  withServer(withJson(agents))
    .description('list agents, local and remote, and why some are skipped')
    .action(action('agents'));
  withServer(withJson(agents.command('add <address>')))
    .description('add a remote agent to the running server, also for later starts')
    .option('--name <name>', 'its name on this server; default: the end of the address')
    .option('--description <text>', 'what it is for; the orchestrator reads it before its card')
    .option('--agent-token <file>', 'a file with the bearer token to send to it; - reads standard input')
    .option('--agent-auth <file>', 'a file with the fields of auth as JSON; - reads standard input')
    .option('--allow-private', 'allow a private or loopback address')
    .option('--relocate', 'call it where its card was found, also when the card names another host')
    .option('--owners <whom>', 'with several owners here, the owner there: forward or shared')
    .option('--hash <hash>', 'the hash that its card must have, as `lango card --verify` shows it')
    .action(action('addAgent'));
  withFolders(withJson(agents.command('search <text>')))
    .description('look for agents in the catalogs of a2a.catalogs; adds none')
    .action(action('searchAgents'));
  withServer(withJson(agents.command('remove <name>')))
    .description('remove a remote agent that was added')
    .action(action('removeAgent'));
}

/** Refuses empty values. They come from unset variables, as in --home "$FOLDER"; a default must not replace them. */
function refuseEmptyValues(command: Command): void {
  for (const option of command.options) {
    if ([command.getOptionValue(option.attributeName())].flat().includes(''))
      command.error(`error: option '${option.flags}' has an empty value. Leave it out, or give it one.`);
  }
  if (command.parent) refuseEmptyValues(command.parent);
}

/** Makes commander throw usage errors, so that they are printed like all errors, with the help of their command. */
function throwErrors(command: Command, name: string): void {
  command.configureOutput({ outputError: () => {} }).exitOverride((error) => {
    if (error.exitCode === 0 || error.code === 'commander.help') throw error;
    // Makes one line of "error: unknown command 'sen'", a line feed, "(Did you mean send?)".
    const sentence = error.message.replace(/^error: /, '').replace(/\s+/g, ' ');
    throw usageError(sentence, `See: ${name} --help`);
  });
  for (const sub of command.commands) throwErrors(sub, `${name} ${sub.name()}`);
}

function addTaskCommands(tasks: Command, act: Act): void {
  const action = actionsOf(act, () => import('./tasks.js'));
  const add = (name: string): Command =>
    withAgents(tasks.command(name))
      .option('--agent <name>', 'the agent that the task belongs to; default: every agent')
      .option('--json', 'print JSON');

  add('list')
    .description('list the newest tasks')
    .addOption(new Option('--state <state>', 'only tasks in this state').choices(TASK_STATES))
    .option('--context <id>', 'only tasks of this conversation')
    .option('--limit <number>', 'the number of tasks', PAGE, DEFAULT_PAGE)
    .action(action('listTasks'));
  add('get <id>')
    .description('show one task with its answer')
    .option('--out <folder>', 'save the files and data of its artifacts')
    .action(action('getTask'));
  add('watch <id>')
    .description('show every event of a task, from its start')
    .option('--no-stream', 'show only the answer')
    .action(actionsOf(act, () => import('./watch.js'))('watch'));
  add('trace <id>')
    .description('show what a task did, as a tree with times, tokens, money and errors')
    .action(actionsOf(act, () => import('./trace.js'))('traceTask'));
  add('export <id>')
    .description('write a task with the tasks below it, on all nodes, as one file')
    .option('--out <file>', 'write to this new file instead of standard output')
    .option('--no-content', 'leave out texts, arguments, results and files')
    .action(actionsOf(act, () => import('./replay.js'))('exportTask'));
  withServer(withJson(tasks.command('import <file>')))
    .description('show the tasks of an exported file on this server; they are never run')
    .action(actionsOf(act, () => import('./replay.js'))('importTask'));
  add('cancel <id>').description('cancel a task').action(action('cancelTask'));
}

function addReplayCommands(program: Command, act: Act): void {
  withAgents(withJson(program.command('replay <task>')))
    .description('run an exported task again, without models, tools and network, and compare each event')
    .option('--current', 'compare what the models were asked with what the running server would ask now')
    .option('--agent <name>', 'the agent that the task belongs to; default: every agent')
    .action(actionsOf(act, () => import('./replay.js'))('replay'));
  withAgents(withJson(program.command('fork <task>')))
    .description('go on from an event of a task as a new task; nothing before it is done again')
    .option('--at <number>', 'the last event to share; default: the last before the end', EVENT)
    .option('--model <name>', 'ask this model')
    .option('--instruction <file>', "the text in place of the agent's instruction")
    .option('--message <text>', 'add this message')
    .option(
      '--result <step=file>',
      'the text in place of the result of a call: t1.c0=FILE; repeatable',
      collect,
    )
    .addOption(
      new Option('--tools <how>', 'make calls, or give recorded results and ask about other calls')
        .choices(['recorded', 'live'])
        .default('live'),
    )
    .option('--agent <name>', 'the agent that the task belongs to; default: every agent')
    .action(actionsOf(act, () => import('./replay.js'))('fork'));
  withAgents(withJson(program.command('diff <task> <other>')))
    .description('show where two tasks part, and what each did from there')
    .option('--agent <name>', 'the agent that the tasks belong to; default: every agent')
    .action(actionsOf(act, () => import('./replay.js'))('diff'));
}

function addEvalCommands(program: Command, act: Act): void {
  const evaluate = withFolders(withJson(program.command('eval <path>')))
    .description('check what tasks did against what cases expect; ends with 1 when a case fails')
    .option('--live', 'send the messages of the cases to live agents, in place of replaying records')
    .option(
      '--judge',
      'ask the judges that have not answered about a record yet, and add their answers to it',
    )
    .option('--run <name>', 'with --live: the name of the run; the same name goes on with it')
    .option('--budget <money>', 'with --live: the most that the whole run may cost', amount)
    .option('--parallel <number>', 'with --live: the most cases at once', PARALLEL, DEFAULT_PARALLEL)
    .option('--record', 'with --live: the tasks of cases that pass become their records')
    .option('--junit <file>', 'also write the results as JUnit XML')
    .option('--compare <run>', 'say what became better or worse since a live run, or a file of --json')
    .action(actionsOf(act, () => import('./eval.js'))('evaluate'));
  withServer(withJson(evaluate.command('new')))
    .description('make cases of your newest tasks on the server: a record and a case of each')
    .option(
      '--from <filter>',
      "only such tasks: 'agent=NAME state=STATE since=7d'; default: of the root agent",
    )
    .option('--out <folder>', 'write to this folder', 'evals')
    .option('--limit <number>', 'the number of tasks', PAGE, DEFAULT_PAGE)
    .action(actionsOf(act, () => import('./eval-new.js'))('newCases'));
  withFolders(withJson(evaluate.command('drift')))
    .description('show how many tasks would be asked something else now, by the nightly comparison')
    .action(actionsOf(act, () => import('./eval.js'))('showDrift'));
}

function addDataCommands(data: Command, capabilities: readonly Capability[], act: Act): void {
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

/** Adds the commands for the database, for other places to run, and for faults. */
function addOperatingCommands(program: Command, act: Act): void {
  const database = actionsOf(act, () => import('./database.js'));
  withFolders(withJson(program.command('backup <file>')))
    .description('copy the database into a new file, also while the server runs')
    .action(database('backup'));
  withFolders(withJson(program.command('restore <file>')))
    .description('put a backup in place of the database, while no server runs')
    .action(database('restore'));
  withFolders(withJson(program.command('migrate')))
    .description('move the embedded database into the PostgreSQL database of the configuration')
    .option('--from <database>', 'sqlite:FILE; default: the database in the data folder')
    .option('--schema', 'move nothing: only make or upgrade the tables')
    .action(database('migrate'));

  const deploy = program.command('deploy').description('run the configuration elsewhere');
  withFolders(deploy.command('kubernetes'))
    .description('print manifests for a cluster, with the configuration file')
    .addOption(
      new Option('--shape <shape>', 'one node, replicas on PostgreSQL, or a node for each sub-agent')
        .choices(['single', 'replicas', 'stack'])
        .default('single'),
    )
    .option('--namespace <name>', 'the namespace', 'lango')
    .option('--registry <address>', 'where the cluster gets the images lango and lango-full')
    .option('--tag <tag>', 'their tag; default: this version')
    .action(actionsOf(act, () => import('./config.js'))('deployKubernetes'));

  withServer(program.command('doctor').description('find what keeps Lango from working here'))
    .option('--model', 'also send the model a tiny request')
    .option('--database', 'read the whole database instead, also of a running server')
    .option('--json', 'one JSON object')
    .action(actionsOf(act, () => import('./doctor.js'))('doctor'));
}

function addKeyCommands(keys: Command, act: Act): void {
  const action = actionsOf(act, () => import('./config.js'));
  withFolders(withJson(keys.command('list').description('list the keys, newest first'))).action(
    action('showKeys'),
  );
  withFolders(withJson(keys.command('rotate')))
    .description('sign with a new key from now on; a running server uses it at once')
    .action(action('rotate'));
}

function addConfigCommands(config: Command, act: Act): void {
  const action = actionsOf(act, () => import('./config.js'));
  withFolders(withJson(config.command('check')))
    .description('list everything that is wrong with the configuration')
    .action(action('checkFile'));
  withFolders(withJson(config.command('show')))
    .description('show every key with its value and the source of the value')
    .action(action('showConfig'));
  config
    .command('schema')
    .description('print the JSON Schema of the configuration file')
    .option('--json', 'no effect: the output is always JSON')
    .action(action('showSchema'));
}

function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

function amount(text: string): number {
  if (/^\d+(\.\d+)?$/.test(text) && Number(text) > 0) return Number(text);
  throw new InvalidArgumentError('It must be an amount of money, such as 2.50.');
}
