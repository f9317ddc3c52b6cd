import type { Env } from '../config/env.js';
import type { Terminal } from './terminal.js';

/** What every command is given besides its flags; it resolves with the exit code, and throws what went wrong. */
export interface CommandContext {
  readonly env: Env;
  readonly terminal: Terminal;
}

/** Runs a command: loads what it needs, and only that. */
export type Act = (command: (context: CommandContext) => Promise<number>) => Promise<void>;
