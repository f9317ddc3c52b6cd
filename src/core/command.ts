import type { OperationClient, OperationTable } from './operation.js';
import type { Services } from './service.js';

/** The terminal of a command: results go to standard output, messages about them to standard error. */
export interface Terminal {
  /** Whether questions can be asked: standard input and standard error are a terminal. */
  readonly canAsk: boolean;
  /** Colors text for standard output. Colors only repeat what the words say. */
  readonly paint: Readonly<Record<'bold' | 'dim' | 'green' | 'red' | 'yellow', (text: string) => string>>;
  /** A line that is shown while the command works; nothing where standard error is no terminal. */
  readonly progress: { start(label: string): void; label(text: string): void; stop(): void };
  /** Writes a line to standard error. */
  readonly note: (line: string) => void;
  /** Gives the commands in a hint as they can be typed: "npx lango send" when npx started this program. */
  readonly typed: (hint: string) => string;
}

export interface Report {
  /** Printed with `--json`, as one line. */
  readonly json: unknown;
  /** Printed without `--json`. */
  readonly lines: readonly string[];
  /** Written to standard error without `--json`. */
  readonly notes?: readonly string[];
  /** Default: success. */
  readonly exitCode?: number;
}

export interface CommandOption {
  /** As commander writes options: "--host <name>". */
  readonly flags: string;
  readonly description: string;
  /** Whether it may be given several times; its value is then a list. */
  readonly isRepeated?: boolean;
}

export type WithOwner = <Table extends OperationTable, T>(
  table: Table,
  use: (owner: OperationClient<Table>) => Promise<T>,
) => Promise<T>;

export interface CommandCall<Settings = unknown, Flags = Readonly<Record<string, unknown>>> {
  /** The values of the options, by their names in camel case. */
  readonly flags: Flags;
  readonly terminal: Terminal;
  /** Calls `use` with a client: of the server of `--url` or LANGO_URL, else of that of the data folder, else of the folder. */
  withOwner: WithOwner;
  /** Reads the settings of the capability, without its database. Rejects with `invalid-config` when they cannot be read. */
  readSettings(): Promise<Settings>;
  /** Calls `use` with the services of the data folder. Rejects with `conflict` while a server has it open. */
  inFolder<T>(use: (services: Services) => Promise<T>): Promise<T>;
}

export interface Command<Settings = unknown> {
  /** The words of the command, then its arguments as commander writes them: "secrets set <name>". */
  readonly usage: string;
  readonly description: string;
  /** The descriptions of arguments that need one, by name. */
  readonly arguments?: Readonly<Record<string, string>>;
  readonly options?: readonly CommandOption[];
  /** Adds options: `owner`: on the data of one owner; `server`: never of another owner; `folder`: in a data folder. */
  readonly works: 'owner' | 'server' | 'folder';
  /** Throws what went wrong. Left out for the words that only begin other commands. */
  run?(call: CommandCall<Settings>, ...given: readonly (string & readonly string[])[]): Promise<Report>;
}
