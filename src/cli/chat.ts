import type { Capability } from '../core/capability.js';
import type { SendRequest } from '../a2a/client/client.js';
import { LangoError, adviceText, isLangoError } from '../core/errors.js';
import { textPart } from '../core/message.js';
import { isInterrupted } from '../core/task.js';
import { attach, describeFile, filesDropped, partsFor, saveFilesOf, toPath } from './attached-files.js';
import type { AttachedFile } from './attached-files.js';
import { capabilitiesOf, connect, type Call, type Connection, type ConnectionFlags } from './connection.js';
import { converse, leavingOpen, replyCommands, StandingApprovals, terminalAsker } from './conversation.js';
import { EXIT, onInterrupt, usageError } from '../terminal/exit.js';
import { agentsHint, ask, missingAgent, noteAbsentAgents } from './explain.js';
import { pipedLines, terminalLines, type TypedLine } from '../terminal/input.js';
import { safeLine, safeText } from '../terminal/safe-text.js';
import { agentNames, newestTasks, rowOf } from './tasks.js';
import type { Terminal } from '../terminal/terminal.js';
import { viewOf } from './render.js';

type ChatFlags = ConnectionFlags & { readonly agent?: string; readonly out?: string };

const HELP = `/new           start a new conversation
/agent NAME    talk to another agent, in a new conversation
/file PATH     send this file along with the next message; so does a file that you drop here
/tasks         the tasks of this conversation
/exit          leave (so does Ctrl-C)`;
const LISTED_TASKS = 20;

/** `lango chat`: sends one request after the other in one conversation, until the input ends. */
export async function chat(call: Call<ChatFlags>): Promise<number> {
  const { flags, terminal } = call;
  const connection = await connect(call);
  const served = await ask(connection, connection.client.card(flags.agent), flags.agent);
  const name = typeof served['name'] === 'string' ? served['name'] : 'an agent';
  terminal.note(`${safeLine(name)} at ${connection.url}. /help lists the commands.`);
  const lines = terminal.canAsk ? terminalLines(terminal.notePaint.bold('› ')) : pipedLines();
  await new Chat(connection, call, await capabilitiesOf(call)).talk(lines);
  return EXIT.ok;
}

class Chat {
  readonly #connection: Connection;
  readonly #terminal: Terminal;
  readonly #flags: ChatFlags;
  readonly #capabilities: readonly Capability[];
  #agent: string | undefined;
  #contextId: string | undefined;
  /** The task that waits for a reply in text. */
  #open: Pick<SendRequest, 'taskId' | 'questions'> = {};
  /** The files that go along with the next message. */
  #files: AttachedFile[] = [];
  /** Ends with the conversation. */
  #standing: StandingApprovals;

  constructor(connection: Connection, call: Call<ChatFlags>, capabilities: readonly Capability[]) {
    const { flags, terminal } = call;
    this.#connection = connection;
    this.#terminal = terminal;
    this.#flags = flags;
    this.#agent = flags.agent;
    this.#capabilities = capabilities;
    this.#standing = new StandingApprovals(capabilities);
  }

  async talk(lines: AsyncIterable<TypedLine>): Promise<void> {
    for await (const { text, pasted } of lines) {
      const line = text.trim();
      if (line === '/exit') return;
      if (line === '') continue;
      try {
        const paths = (await Promise.all(pasted.map(filesDropped))).flat();
        for (const path of paths) await this.#attach(path);
        const isPathAlone = paths.length > 0 && pasted.join('').trim() === line;
        if (!isPathAlone)
          await (line.startsWith('/') && paths.length === 0 ? this.#command(line) : this.#say(line));
      } catch (error) {
        // A person can try again; a script must fail.
        if (!this.#terminal.canAsk || !isLangoError(error)) throw error;
        this.#terminal.note(safeText(adviceText(error)));
      }
    }
  }

  async #command(line: string): Promise<void> {
    const [command, name] = line.split(/\s+/);
    const rest = line.slice(command!.length).trim();
    switch (command) {
      case '/new':
        this.#startOver(this.#agent);
        break;
      case '/agent':
        await this.#switchTo(name);
        break;
      case '/file':
        if (rest === '') throw usageError('Name the file: /file PATH');
        await this.#attach(toPath(rest) ?? rest);
        break;
      case '/tasks':
        await this.#listTasks();
        break;
      case '/help':
        this.#terminal.note(HELP);
        break;
      default:
        this.#terminal.note(`There is no command ${safeLine(line)}.\n${HELP}`);
    }
  }

  async #attach(path: string): Promise<void> {
    const file = await attach(path);
    this.#files.push(file);
    this.#terminal.note(`Goes along with your next message: ${describeFile(file)}`);
  }

  async #switchTo(name: string | undefined): Promise<void> {
    const names = await agentNames(this.#connection);
    if (name !== undefined && names.includes(name)) this.#startOver(name);
    else if (name === undefined) this.#terminal.note(safeLine(agentsHint('', names)));
    else {
      const { text, hint } = await missingAgent(name, this.#connection);
      this.#terminal.note(safeLine(`${text} ${hint}`));
    }
  }

  #startOver(agent: string | undefined): void {
    this.#agent = agent;
    this.#contextId = undefined;
    this.#open = {};
    this.#standing = new StandingApprovals(this.#capabilities);
    this.#terminal.note(`A new conversation${agent === undefined ? '' : ` with ${agent}`}.`);
  }

  async #listTasks(): Promise<void> {
    if (this.#contextId === undefined) return this.#terminal.note('This conversation has no tasks yet.');
    const query = { agent: this.#agent, context: this.#contextId, limit: LISTED_TASKS };
    for (const task of (await newestTasks(query, this.#connection)).tasks)
      this.#terminal.print(rowOf(task, this.#terminal));
  }

  /** Sends one request and follows it to its end. Ctrl-C cancels the request; a second Ctrl-C leaves. */
  async #say(line: string): Promise<void> {
    const { progress, note, typed } = this.#terminal;
    const canceling = new AbortController();
    using _interrupt = onInterrupt(() =>
      canceling.abort(new LangoError('canceled', 'Canceled from the command line.')),
    );
    const parts = [textPart(line), ...(await partsFor(this.#files.splice(0), this.#connection, this.#agent))];
    progress.start('waiting for the server');
    try {
      const request = { parts, agent: this.#agent, contextId: this.#contextId, ...this.#open };
      const { taskId, end, hasDelegated } = await converse(request, {
        connection: this.#connection,
        view: viewOf('story', this.#terminal),
        asker: this.#terminal.canAsk ? terminalAsker(this.#terminal, this.#standing) : leavingOpen,
        signal: canceling.signal,
      });
      const waitsForText = isInterrupted(end.state) && end.questions.every(({ kind }) => kind === 'input');
      this.#open = waitsForText && taskId !== undefined ? { taskId, questions: end.questions } : {};
      if (this.#agent === undefined && !hasDelegated)
        await noteAbsentAgents(this.#connection, this.#terminal);
      if (taskId === undefined) return;
      if (this.#contextId === undefined) {
        const { client } = this.#connection;
        const task = await ask(this.#connection, client.get({ taskId, agent: this.#agent }));
        this.#contextId = task.contextId;
      }
      const { out } = this.#flags;
      const context = { connection: this.#connection, terminal: this.#terminal };
      if (out !== undefined) await saveFilesOf({ taskId, agent: this.#agent }, out, context);
      if (!waitsForText) replyCommands(taskId, end.questions, this.#flags).map(typed).forEach(note);
    } finally {
      progress.stop();
    }
  }
}
