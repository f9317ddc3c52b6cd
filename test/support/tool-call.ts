import { silentLogger } from '../../src/core/logger.js';
import type { Tool, ToolContext, ToolOutput } from '../../src/core/tool.js';

export function toolContext(changes: Partial<ToolContext> = {}): ToolContext {
  return {
    signal: new AbortController().signal,
    logger: silentLogger,
    key: 'a'.repeat(64),
    tenant: '',
    owner: 'alice',
    taskId: 'task',
    contextId: 'context',
    resolveSecrets: async (text) => text,
    hasReadOutside: false,
    ...changes,
  };
}

export function toolNamed(tools: readonly Tool[], name: string): Tool {
  const tool = tools.find((candidate) => candidate.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  return tool;
}

/** Calls a tool as the loop does: the schema first. */
export function callerOf(tools: readonly Tool[]) {
  return async (name: string, input: unknown, changes?: Partial<ToolContext>): Promise<ToolOutput> => {
    const tool = toolNamed(tools, name);
    return tool.execute(tool.schema.parse(input), toolContext(changes));
  };
}
