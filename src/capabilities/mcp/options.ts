import type { Logger } from '../../core/logger.js';
import type { RunningProgram } from '../../core/program.js';

/** One MCP server, as the configuration describes it. */
export interface McpServerOptions {
  /** Lower-case letters and digits: a part of the names of its tools. */
  readonly name: string;
  /** How to reach it. */
  readonly reach: McpReach;
  /** Identifies the server that `reach` leads to. The accepted definitions of tools belong to it. */
  readonly target: string;
  /** The tools to offer, by the server's own names. Undefined: all. */
  readonly include: readonly string[] | undefined;
  readonly exclude: readonly string[];
  readonly approval: 'annotations' | 'always' | 'never';
  readonly effect: 'unsafe' | 'pure';
  readonly timeoutMs: number;
  /** The file with the accepted definitions of tools. Its folder is created if it is missing. */
  readonly acceptedFile: string;
  readonly logger: Logger;
}

export type McpReach =
  | {
      readonly kind: 'http';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      /** The egress client. */
      readonly fetch: typeof fetch;
    }
  | { readonly kind: 'process'; readonly start: () => Promise<RunningProgram> };
