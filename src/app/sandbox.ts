import type { Config } from '../config/config.js';
import type { SandboxFinding } from '../tools/exec/index.js';
import { findSandbox } from '../tools/exec/index.js';

/**
 * Begins to look for a sandbox: that runs real commands, and the rest of the start does not wait for it. Undefined
 * where no commands are run.
 */
export function seekSandbox({ tools, workspace }: Config): Promise<SandboxFinding> | undefined {
  if (!tools.exec.enabled) return undefined;
  const finding = findSandbox({ mode: tools.exec.sandbox, roots: workspace });
  finding.catch(() => undefined); // whoever waits for it is told
  return finding;
}
