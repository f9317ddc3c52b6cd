import type { Tool } from '../../core/tool.js';
import { execOutputTool, execStartTool, execStatusTool, execStopTool } from './background-tools.js';
import { BackgroundProcesses } from './background.js';
import { execTool } from './exec.js';
import type { ExecOptions } from './launch.js';
import { Runner } from './runner.js';

export type { ExecLimits } from './launch.js';
export type { ExecOptions } from './launch.js';
export type { SandboxFinding } from './sandbox.js';
export { findSandbox } from './sandbox.js';

/** The family that runs commands. */
export interface Exec {
  readonly tools: readonly Tool[];
  /** Ends every command that still runs and refuses new ones; resolves when none is left. */
  close(): Promise<void>;
}

/**
 * Commands in the workspace. In the sandbox they also die with a server that is killed; without one only
 * with a server that ends by itself.
 */
export function createExec(options: ExecOptions): Exec {
  const runner = new Runner(options);
  const background = new BackgroundProcesses();
  return {
    tools: [
      execTool(runner, options),
      execStartTool(runner, background, options),
      execStatusTool(background),
      execOutputTool(background, options),
      execStopTool(background),
    ],
    close: () => runner.close(),
  };
}
