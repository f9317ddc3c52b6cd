import { backgroundTool } from './background-tool.js';
import { execTool } from './exec.js';
import { Runner, type ExecOptions } from './runner.js';

export type { ExecLimits } from './launch.js';
export type { ExecOptions } from './runner.js';
export { SandboxedPrograms } from './programs.js';
export { openCommandGroups } from './cgroup.js';
export { findSandbox } from './sandbox.js';

/**
 * Creates the tools that run commands, and `close`, which ends all running commands and refuses new ones. Commands in the
 * sandbox end even when the server is killed; commands outside of it end only when the server stops normally.
 */
export function createExec(options: ExecOptions) {
  const runner = new Runner(options);
  return { tools: [execTool(runner, options), backgroundTool(runner, options)], close: () => runner.close() };
}
