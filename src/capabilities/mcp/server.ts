import { setImmediate as nextTurn } from 'node:timers/promises';
import { errorText, isLangoError, LangoError } from '../../core/errors.js';
import { counted } from '../../core/text.js';
import { abortable, backoffMs, waitAtMost } from '../../core/time.js';
import type { Tool, ToolSource } from '../../core/tool.js';
import type { NodeFinding } from '../../core/tool-family.js';
import { AcceptedTools, definitionHash } from './accepted.js';
import { openConnection, outsideText } from './connection.js';
import type { Connection, Definition, McpServerOptions } from './connection.js';
import { Calls } from './calls.js';
import { mcpTool, signInTool, toolNames } from './mcp-tool.js';

/** The longest time that a run waits for a server that is being reached. */
const RUN_WAITS_MS = 3_000;
const PAUSES = { firstMs: 1_000, longestMs: 60_000 };
/** A server that takes longer than this to list its tools counts as hanging. */
const ALIVE_MS = 2_000;
const MOST_TOOLS = 128;
/** The longest name that the protocol recommends, in characters. */
const LONGEST_TOOL_NAME = 128;

/** A tool of a server, with the decision whether agents get it. */
export interface OfferedTool {
  /** The name on the server. */
  readonly tool: string;
  /** The name for agents. */
  readonly name: string;
  readonly description: string;
  readonly state: 'offered' | 'excluded' | 'changed' | 'unusable';
  /** The reason why the tool is unusable. */
  readonly reason?: string;
  readonly danger?: 'dangerous' | 'moderate' | 'safe';
}

/**
 * One server with its connection. The server is connected in the background, and again on use when the connection was
 * lost; after a failure, no sooner than a pause that doubles. Known tools stay offered while the server is away.
 */
export class McpServer implements ToolSource {
  readonly name: string;
  readonly kind: ToolSource['kind'];
  readonly calls: Calls;
  readonly #options: McpServerOptions;
  readonly #accepted: AcceptedTools;
  /** Offered to a person who is not signed in, in place of the tools. */
  readonly #signIn: Tool;
  #connection: Connection | undefined;
  #opening: { readonly since: number; readonly done: Promise<Connection> } | undefined;
  #failure: { readonly error: LangoError; readonly retryAt: number; readonly failures: number } | undefined;
  #definitions: readonly Definition[] = [];
  #offers: readonly OfferedTool[] = [];
  #tools: ReadonlyMap<string, { readonly hash: string; readonly tool: Tool }> = new Map();
  #reading: Promise<void> = Promise.resolve();
  /** Settles once it is known whether a server that gave no response to a call responds at all. */
  #checking: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: McpServerOptions) {
    this.#options = options;
    this.name = options.name;
    this.kind = { name: `mcp_${options.name}_` };
    this.#signIn = signInTool(options.name);
    this.#accepted = new AcceptedTools(options.acceptedFile, options.target);
    this.calls = new Calls(options, {
      ready: (signal) => this.#ready(signal),
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
    if (this.#connection && !this.#connection.isClosed && !this.#opening) {
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
    const subject = `mcp ${this.name}`;
    if (this.#failure) {
      const { message, hint } = this.#failure.error;
      const text = `the MCP server ${this.name} cannot be used: ${message.replace(/\.$/, '')}`;
      return { code: 'mcp-unreachable', subject, state: 'warn', text, ...(hint && { hint }) };
    }
    const changed = this.#offers.filter(({ state }) => state === 'changed').map(({ tool }) => tool);
    if (changed.length > 0) {
      const text = `the MCP server ${this.name} changed ${changed.join(', ')}: held back until accepted`;
      return { code: 'mcp-changed', subject, state: 'warn', text, hint: this.#acceptHint() };
    }
    if (!this.#connection) return { code: 'mcp-starting', subject, state: 'ok', text: 'not reached yet' };
    return { code: 'mcp', subject, state: 'ok', text: `offers ${counted(this.#tools.size, 'tool')}` };
  }

  /** Accepts the changed definitions of tools, as they were held back. Resolves with the names of the tools. */
  accept(): Promise<readonly string[]> {
    return this.#accepted.accept();
  }

  async #ready(signal: AbortSignal): Promise<Connection> {
    if (this.#failure && Date.now() < this.#failure.retryAt) throw this.#failure.error;
    const connection = this.#checking.then(() => this.#connect());
    return abortable(connection, signal);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.calls.close();
    const opening = this.#opening?.done.then((connection) => connection.close()).catch(() => undefined);
    if (opening) await waitAtMost(PAUSES.firstMs, opening, { ref: false });
    await this.#drop();
  }

  /** After a call without a response: ends a server that responds to nothing else either. It starts again on use. */
  async #endIfHanging(connection: Connection): Promise<void> {
    if (connection.isClosed) return;
    await connection.list(ALIVE_MS).catch(() => connection.close().catch(() => undefined));
  }

  /** Resolves once the tools are read too, so that a run that begins meanwhile has them. */
  #connect(): Promise<Connection> {
    if (this.#opening) return this.#opening.done;
    if (this.#connection && !this.#connection.isClosed) return Promise.resolve(this.#connection);
    const closed = new LangoError('unavailable', 'The server is shutting down.', { retryable: true });
    if (this.#isClosed) return Promise.reject(closed);
    const done = this.#open().finally(() => (this.#opening = undefined));
    done.catch(() => undefined);
    this.#opening = { since: Date.now(), done };
    return done;
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
      const foreign = new LangoError('unavailable', outsideText(error), { cause: error });
      const known = error instanceof LangoError ? error : foreign;
      if (this.#failure?.error.message !== known.message) {
        const text = `the MCP server ${name} cannot be used: ${known.message}`;
        logger.warn(text, { server: name, hint: known.hint });
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
        const named = definitions.filter(({ name }) => name.length <= LONGEST_TOOL_NAME);
        this.#definitions = named.slice(0, MOST_TOOLS);
        await this.#judge();
      });
    this.#reading = next;
    return next;
  }

  /** Decides which tools are offered. An unchanged tool stays the same object. */
  async #judge(): Promise<void> {
    const { include, exclude, name, logger } = this.#options;
    const verdicts = await this.#accepted.judge(this.#definitions);
    const given = this.#definitions.map((each) => each.name);
    const names = toolNames(this.kind.name, given);
    const tools = new Map<string, { readonly hash: string; readonly tool: Tool }>();
    const offerOf = (definition: Definition): OfferedTool => {
      const { name: tool, description = '' } = definition;
      const own = { tool, name: names.get(tool)!, description };
      if ((include && !include.includes(tool)) || exclude.includes(tool))
        return { ...own, state: 'excluded' };
      if (verdicts.get(tool) === 'changed') return { ...own, state: 'changed' };
      try {
        const hash = definitionHash(definition);
        const known = this.#tools.get(own.name);
        const make = () => mcpTool(definition, own.name, { options: this.#options, calls: this.calls });
        const made = known?.hash === hash ? known : { hash, tool: make() };
        tools.set(own.name, made);
        return { ...own, state: 'offered', danger: made.tool.danger({}) };
      } catch (error) {
        return { ...own, state: 'unusable', reason: errorText(error) };
      }
    };
    const offers: OfferedTool[] = [];
    for (const definition of this.#definitions) {
      offers.push(offerOf(definition));
      // Reading a schema takes a while, and there may be many.
      await nextTurn();
    }
    const before = new Map(this.#offers.map(({ tool, state }) => [tool, state]));
    for (const { tool, state, reason } of offers) {
      if (state === before.get(tool)) continue;
      const hint = this.#acceptHint();
      if (state === 'changed')
        logger.warn(`the MCP server ${name} changed its tool ${tool}: held back`, { hint });
      if (state === 'unusable')
        logger.warn(`the tool ${tool} of the MCP server ${name} is left out: ${reason}`, { server: name });
    }
    this.#offers = offers;
    this.#tools = tools;
  }

  #acceptHint(): string {
    return `Look at it with lango mcp list, and accept it with lango mcp accept ${this.name}.`;
  }
}
