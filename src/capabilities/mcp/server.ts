import { errorText, isLangoError, LangoError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import { counted } from '../../core/text.js';
import { abortable, backoffMs, waitAtMost } from '../../core/time.js';
import type { Tool, ToolSource } from '../../core/tool.js';
import type { NodeFinding } from '../../core/tool-family.js';
import { AcceptedTools, definitionHash } from './accepted.js';
import { openConnection, outsideText, type Connection, type Definition } from './connection.js';
import { Calls } from './calls.js';
import type { CallEnd } from './conversation.js';
import { mcpTool, signInTool, toolNames, type CallContext } from './mcp-tool.js';
import type { McpServerOptions } from './options.js';

/** How long a run waits for a server that is being reached. */
const RUN_WAITS_MS = 3_000;
const PAUSES = { firstMs: 1_000, longestMs: 60_000 };
/** A server that takes longer than this to list its tools counts as hanging. */
const ALIVE_MS = 2_000;
const MOST_TOOLS = 128;
/** As the protocol recommends it. */
const LONGEST_TOOL_NAME = 128;

/** A tool of a server, and what became of it. */
export interface OfferedTool {
  /** The name on the server. */
  readonly tool: string;
  /** The name for agents. */
  readonly name: string;
  readonly description: string;
  readonly state: 'offered' | 'excluded' | 'changed' | 'unusable';
  /** Why it is unusable. */
  readonly reason?: string;
  readonly danger?: 'dangerous' | 'moderate' | 'safe';
}

/**
 * One server with its connection. It connects in the background, and connects again on use when the connection was lost,
 * after a failure no sooner than a pause that doubles. Tools that were read once stay offered while it is away.
 */
export class McpServer implements ToolSource {
  readonly kind: ToolSource['kind'];
  readonly #options: McpServerOptions;
  readonly #accepted: AcceptedTools;
  /** Offered to a person who is not signed in, in place of the tools. */
  readonly #signIn: Tool;
  readonly #calls: Calls;
  #connection: Connection | undefined;
  #opening: { readonly since: number; readonly done: Promise<Connection> } | undefined;
  #failure: { readonly error: LangoError; readonly retryAt: number; readonly failures: number } | undefined;
  #definitions: readonly Definition[] = [];
  #offers: readonly OfferedTool[] = [];
  #tools: ReadonlyMap<string, { readonly hash: string; readonly tool: Tool }> = new Map();
  #reading: Promise<void> = Promise.resolve();
  /** Settles once it is known whether a server that gave no answer answers at all. */
  #checking: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: McpServerOptions) {
    this.#options = options;
    this.kind = { name: `mcp_${options.name}_` };
    this.#signIn = signInTool(options.name);
    this.#accepted = new AcceptedTools(options.acceptedFile, options.target);
    this.#calls = new Calls(options, {
      ready: (signal) => this.ready(signal),
      drop: () => this.#drop(),
      onSilent: (connection) => {
        this.#checking = this.#endIfHanging(connection);
      },
    });
  }

  /** Tries to reach the server. Never rejects. */
  async start(): Promise<void> {
    await this.#connect().catch(() => undefined);
  }

  async refresh(): Promise<void> {
    if (this.#connection && !this.#connection.isClosed) {
      // A person may have accepted what is held back.
      if (this.#offers.some(({ state }) => state === 'changed')) await this.#judge().catch(() => undefined);
      return;
    }
    if (this.#failure && Date.now() < this.#failure.retryAt) return;
    const opening = this.start();
    const left = RUN_WAITS_MS - (Date.now() - (this.#opening?.since ?? Date.now()));
    if (left > 0) await waitAtMost(left, opening, { ref: false });
  }

  async prepare(): Promise<void> {}

  list(): readonly Tool[] {
    if (this.#tools.size === 0 && isLangoError(this.#failure?.error, 'unauthenticated'))
      return [this.#signIn];
    return [...this.#tools.values()].map(({ tool }) => tool);
  }

  get offers(): readonly OfferedTool[] {
    return this.#offers;
  }

  /** The state of the server, for its operator. */
  finding(): NodeFinding {
    const subject = `mcp ${this.#options.name}`;
    if (this.#failure) {
      const { message, hint } = this.#failure.error;
      const text = `the MCP server ${this.#options.name} cannot be used: ${message.replace(/\.$/, '')}`;
      return {
        code: 'mcp-unreachable',
        subject,
        state: 'warn',
        text,
        ...(hint === undefined ? {} : { hint }),
      };
    }
    const changed = this.#offers.filter(({ state }) => state === 'changed').map(({ tool }) => tool);
    if (changed.length > 0) {
      const text = `the MCP server ${this.#options.name} changed ${changed.join(', ')}: held back until accepted`;
      return { code: 'mcp-changed', subject, state: 'warn', text, hint: this.#acceptHint() };
    }
    if (!this.#connection) return { code: 'mcp-starting', subject, state: 'ok', text: 'not reached yet' };
    return { code: 'mcp', subject, state: 'ok', text: `offers ${counted(this.#tools.size, 'tool')}` };
  }

  /** Accepts the changed definitions of tools, as they were held back. Resolves with the names of the tools. */
  accept(): Promise<readonly string[]> {
    return this.#accepted.accept();
  }

  async ready(signal: AbortSignal): Promise<Connection> {
    if (this.#failure && Date.now() < this.#failure.retryAt) throw this.#failure.error;
    return abortable(
      this.#checking.then(() => this.#connect()),
      signal,
    );
  }

  call(tool: string, input: JsonObject, context: CallContext): Promise<CallEnd> {
    return this.#calls.call(tool, input, context);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#calls.close();
    const opening = this.#opening?.done.then((connection) => connection.close()).catch(() => undefined);
    if (opening) await waitAtMost(PAUSES.firstMs, opening, { ref: false });
    await this.#drop();
  }

  /** After a call without an answer: a server that answers nothing else either is ended, and started again on use. */
  async #endIfHanging(connection: Connection): Promise<void> {
    if (connection.isClosed) return;
    await connection.list(ALIVE_MS).catch(() => connection.close().catch(() => undefined));
  }

  #connect(): Promise<Connection> {
    if (this.#connection && !this.#connection.isClosed) return Promise.resolve(this.#connection);
    const closed = new LangoError('unavailable', 'The server is shutting down.', { retryable: true });
    if (this.#isClosed) return Promise.reject(closed);
    if (!this.#opening) {
      const done = this.#open().finally(() => (this.#opening = undefined));
      done.catch(() => undefined);
      this.#opening = { since: Date.now(), done };
    }
    return this.#opening.done;
  }

  async #open(): Promise<Connection> {
    const { name, logger } = this.#options;
    try {
      const connection = await openConnection(this.#options, {
        onToolsChanged: () => void this.#read().catch(() => undefined),
        onClosed: () => logger.debug('the connection to an MCP server ended', { server: name }),
      });
      this.#connection = connection;
      await this.#read();
      this.#failure = undefined;
      if (this.#isClosed) await connection.close();
      return connection;
    } catch (error) {
      await this.#drop();
      const isSignIn = isLangoError(error, 'unauthenticated');
      // A person may sign in at any time.
      const failures = isSignIn ? 1 : (this.#failure?.failures ?? 0) + 1;
      const known =
        error instanceof LangoError
          ? error
          : new LangoError('unavailable', outsideText(error), { cause: error });
      if (this.#failure?.error.message !== known.message) {
        logger.warn(`the MCP server ${name} cannot be used: ${errorText(known)}`, {
          server: name,
          hint: known.hint,
        });
      }
      this.#failure = { error: known, retryAt: Date.now() + backoffMs(failures, PAUSES), failures };
      throw known;
    }
  }

  async #drop(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.close().catch(() => undefined);
  }

  /** Reads the list of tools, one reading at a time. */
  #read(): Promise<void> {
    const next = this.#reading
      .catch(() => undefined)
      .then(async () => {
        const definitions = await this.#connection?.list();
        if (!definitions) return;
        this.#definitions = definitions
          .filter(({ name }) => name.length <= LONGEST_TOOL_NAME)
          .slice(0, MOST_TOOLS);
        await this.#judge();
      });
    this.#reading = next;
    return next;
  }

  /** Decides which tools are offered. An unchanged tool stays the same object. */
  async #judge(): Promise<void> {
    const { include, exclude, name, logger } = this.#options;
    const verdicts = await this.#accepted.judge(this.#definitions);
    const names = toolNames(
      this.kind.name,
      this.#definitions.map((each) => each.name),
    );
    const tools = new Map<string, { readonly hash: string; readonly tool: Tool }>();
    const offers = this.#definitions.map((definition): OfferedTool => {
      const own = {
        tool: definition.name,
        name: names.get(definition.name)!,
        description: definition.description ?? '',
      };
      if ((include && !include.includes(own.tool)) || exclude.includes(own.tool))
        return { ...own, state: 'excluded' };
      if (verdicts.get(own.tool) === 'changed') return { ...own, state: 'changed' };
      try {
        const hash = definitionHash(definition);
        const known = this.#tools.get(own.name);
        const tool =
          known?.hash === hash
            ? known.tool
            : mcpTool(definition, { name: own.name, options: this.#options, server: this });
        tools.set(own.name, { hash, tool });
        return { ...own, state: 'offered', danger: tool.danger({}) };
      } catch (error) {
        return { ...own, state: 'unusable', reason: errorText(error) };
      }
    });
    for (const { tool, state, reason } of offers.filter((each) => isNews(each, this.#offers))) {
      if (state === 'changed')
        logger.warn(`the MCP server ${name} changed its tool ${tool}: held back`, {
          hint: this.#acceptHint(),
        });
      if (state === 'unusable')
        logger.warn(`the tool ${tool} of the MCP server ${name} is left out: ${reason}`, { server: name });
    }
    this.#offers = offers;
    this.#tools = tools;
  }

  #acceptHint(): string {
    return `Look at it with lango mcp list, and accept it with lango mcp accept ${this.#options.name}.`;
  }
}

function isNews({ tool, state }: OfferedTool, before: readonly OfferedTool[]): boolean {
  return before.find((each) => each.tool === tool)?.state !== state;
}
