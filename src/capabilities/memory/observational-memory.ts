import type { RunMemory } from '../../core/run.js';
import type { Tool } from '../../core/tool.js';
import { listObservationsTool, listReflectionsTool, recordTool, summarizeTool } from './memory-tools.js';
import { recall, type RecollectionOptions } from './recollection.js';
import { createMemoryWriter, type MemoryWriterOptions } from './writer.js';

/** Observations and reflections: made after runs, included in later prompts, and listed by tools. */
export interface ObservationalMemory {
  readonly tools: readonly Tool[];
  readonly memory: RunMemory;
  close(): Promise<void>;
}

export function createObservationalMemory(
  options: MemoryWriterOptions & RecollectionOptions,
): ObservationalMemory {
  const { memory } = options;
  const writer = createMemoryWriter(options);
  return {
    tools: [
      listObservationsTool(memory),
      listReflectionsTool(memory),
      recordTool(memory),
      summarizeTool(writer),
    ],
    memory: {
      recall: (run) => recall(run, options),
      runEnded: (task) => writer.runEnded(task),
    },
    close: () => writer.close(),
  };
}
