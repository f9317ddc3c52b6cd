import type { Env } from '../config/env.js';
import type { Terminal } from '../terminal/terminal.js';

/** The settings that all commands of a process share. */
export interface CommandContext {
  readonly env: Env;
  readonly terminal: Terminal;
}

/** One call of a command: what it gets besides its arguments. */
export interface Call<Flags> extends CommandContext {
  readonly flags: Flags;
}
