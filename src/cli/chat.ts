import { LangoError, isLangoError } from '../core/errors.js';
import { textPart } from '../core/message.js';
import { isInterrupted } from '../core/task.js';
import type { Connection, ConnectionFlags } from './connection.js';
import { connect } from './connection.js';
import { leavingOpen, terminalAsker, answerCommands, converse } from './conversation.js';
import { EXIT, onInterrupt } from './exit.js';
import { agentsHint, ask, missingAgent } from './explain.js';
import type { LineReader } from './input.js';
import { pipedLines, terminalLines } from './input.js';
import { createPaint } from './render.js';
import { safeLine, safeText } from './safe-text.js';
import { agentNames, refTo, newestTasks, rowOf } from './tasks.js';
import type { CommandContext, Terminal } from './terminal.js';
import { storyView } from './view.js';

export interface ChatFlags extends ConnectionFlags {
  readonly agent?: string;
}

const HELP = `/new           start a new conversation
/agent NAME    talk to another agent, in a new conversation
/tasks         the tasks of this conversation
/exit          leave (so does Ctrl-C)`;
const LISTED_TASKS = 20;

/** `lango chat`: sends one request after the other in one conversation, until the input ends. */
export async function chat(flags: ChatFlags, { env, terminal }: CommandContext): Promise<number> {
  const connection = await connect(flags, env);
  const served = await ask(connection, connection.client.card(flags.agent), flags.agent);
  const lines = terminal.canAsk ? terminalLines() : pipedLines();
  const name = typeof served['name'] === 'string' ? served['name'] : 'an agent';
  terminal.note(`${safeLine(name)} at ${connection.url}. /help lists the commands.`);
  try {
    return await new Chat(connection, terminal, flags).talk(lines);
  } finally {
    lines.close();
  }
}

class Chat {
  readonly #connection: Connection;
  readonly #terminal: Terminal;
  readonly #flags: ChatFlags;
  #agent: string | undefined;
  #contextId: string | undefined;
  /** The task that waits for a reply in text. */
  #openTask: string | undefined;

  constructor(connection: Connection, terminal: Terminal, flags: ChatFlags) {
    this.#connection = connection;
    this.#terminal = terminal;
    this.#flags = flags;
    this.#agent = flags.agent;
  }

  async talk(lines: LineReader): Promise<number> {
    const prompt = createPaint(this.#terminal.noteColor).bold('› ');
    for (;;) {
      const line = (await lines.next(prompt))?.trim();
      if (line === undefined || line === '/exit') return EXIT.ok;
      if (line === '') continue;
      try {
        await (line.startsWith('/') ? this.#command(line) : this.#say(line));
      } catch (error) {
        // A person can try again; a script must fail.
        if (!this.#terminal.canAsk || !isLangoError(error)) throw error;
        this.#terminal.note(safeText([error.message, error.hint].join(' ').trim()));
      }
    }
  }

  async #command(line: string): Promise<void> {
    const [command, name] = line.split(/\s+/);
    switch (command) {
      case '/new':
        this.#startOver(this.#agent);
        break;
      case '/agent':
        await this.#switchTo(name);
        break;
      case '/tasks':
        await this.#listTasks();
        break;
      case '/help':
        this.#terminal.note(HELP);
        break;
      default:
        this.#terminal.note(`There is no ${safeLine(line)}.\n${HELP}`);
    }
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
    this.#openTask = undefined;
    this.#terminal.note(`A new conversation${agent === undefined ? '' : ` with ${agent}`}.`);
  }

  async #listTasks(): Promise<void> {
    if (this.#contextId === undefined) {
      this.#terminal.note('This conversation has no tasks yet.');
      return;
    }
    const filter = { context: this.#contextId, limit: LISTED_TASKS };
    const query = this.#agent === undefined ? filter : { ...filter, agent: this.#agent };
    for (const task of await newestTasks(query, this.#connection)) {
      this.#terminal.print(rowOf(task, this.#terminal.color));
    }
  }

  /** Sends one request and follows it to its end. Ctrl-C cancels the request; a second Ctrl-C leaves. */
  async #say(line: string): Promise<void> {
    const { progress, note } = this.#terminal;
    const canceling = new AbortController();
    using _interrupt = onInterrupt(() =>
      canceling.abort(new LangoError('canceled', 'Canceled from the command line.')),
    );
    progress.start('waiting for the server');
    try {
      const { taskId, end } = await converse(
        {
          parts: [textPart(line)],
          ...(this.#agent === undefined ? {} : { agent: this.#agent }),
          ...(this.#contextId === undefined ? {} : { contextId: this.#contextId }),
          ...(this.#openTask === undefined ? {} : { taskId: this.#openTask }),
        },
        {
          connection: this.#connection,
          view: storyView(this.#terminal),
          asker: this.#terminal.canAsk ? terminalAsker(this.#terminal) : leavingOpen,
          signal: canceling.signal,
        },
      );
      const waitsForText = isInterrupted(end.state) && end.questions.every(({ kind }) => kind === 'input');
      this.#openTask = waitsForText ? taskId : undefined;
      if (taskId === undefined) return;
      this.#contextId ??= await this.#contextOf(taskId);
      if (!waitsForText) for (const line of answerCommands(taskId, end.questions, this.#flags)) note(line);
    } finally {
      progress.stop();
    }
  }

  async #contextOf(taskId: string): Promise<string> {
    const task = await ask(this.#connection, this.#connection.client.get(refTo(taskId, this.#agent)));
    return task.contextId;
  }
}
