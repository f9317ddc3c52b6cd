import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Tool, ToolContext, ToolOutput } from '../../../../src/core/tool.js';
import { createFsTools, type FsOptions } from '../../../../src/capabilities/workspace/fs/index.js';
import { callerOf, toolContext, toolNamed } from '../../../support/tool-call.js';
import { sharedDisk } from '../../../disk/disk.js';

export interface Stage {
  readonly tools: readonly Tool[];
  readonly root: string;
  /** A folder beside the root, which no call may reach. */
  readonly outside: string;
  readonly call: (name: string, input: unknown, changes?: Partial<ToolContext>) => Promise<ToolOutput>;
  /** Calls a tool and resolves with the content of its result. */
  readonly ask: (name: string, input: unknown) => Promise<unknown>;
  readonly settle: (name: string, input: Record<string, unknown>) => Promise<ToolOutput | undefined>;
}

/** Opens the family over a fresh workspace, which is removed afterwards. */
export async function onStage(work: (stage: Stage) => Promise<void>, options: Partial<FsOptions> = {}) {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'lango-fs-')));
  const root = await mkdtemp(join(base, 'root-'));
  const outside = await mkdtemp(join(base, 'outside-'));
  const tools = createFsTools({ ...sharedDisk(root), maxReadBytes: 1000, maxWriteBytes: 5000, ...options });
  const call = callerOf(tools);
  const ask = async (name: string, input: unknown) => (await call(name, input)).content;
  const settle = (name: string, input: Record<string, unknown>) =>
    toolNamed(tools, name).settle!(input, toolContext());
  try {
    await work({ tools, root, outside, call, ask, settle });
  } finally {
    await rm(base, { recursive: true, force: true });
  }
}
