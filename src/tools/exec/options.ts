import type { Logger } from '../../core/logger.js';
import type { Scope } from '../../core/task.js';
import type { ExecLimits, Sandbox } from './launch.js';

export interface ExecOptions {
  /** Absolute folders that commands may work in; the first is where they start. */
  readonly roots: readonly string[];
  /** From `findSandbox`. Undefined: commands run as the server's own user, each one `dangerous`. */
  readonly sandbox: Sandbox | undefined;
  /**
   * Whether sandboxed commands share the host's network. That includes its loopback services and its
   * abstract Unix sockets: there is no half of a network namespace.
   */
  readonly network: boolean;
  /** The server's environment; commands see only the variables that `envAllow` names. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly envAllow: readonly string[];
  /** Folders outside the roots that commands of this owner may read: those of skills. They exist. */
  readonly readable?: (scope: Scope) => readonly string[];
  readonly limits: ExecLimits;
  readonly logger: Logger;
}
