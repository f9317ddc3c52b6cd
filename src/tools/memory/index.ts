import type { MemoryStore } from '../../stores/memory.js';
import type { Remembering } from '../../core/run.js';
import type { Tool } from '../../core/tool.js';
import { listObservationsTool, listReflectionsTool, recordTool, summarizeTool } from './memory-tools.js';
import { recall } from './recollection.js';
import { createMemoryWriter, type MemoryWriterOptions } from './writer.js';

export interface ObservationalMemoryOptions extends MemoryWriterOptions {
  readonly memory: MemoryStore;
  /** Maximum (estimated) tokens of memory in one prompt. */
  readonly promptTokens: number;
}

/** Observations and reflections: made after runs, included in later prompts, and listed by tools. */
export interface ObservationalMemory {
  readonly tools: readonly Tool[];
  readonly remembering: Remembering;
  close(): Promise<void>;
}

export function createObservationalMemory(options: ObservationalMemoryOptions): ObservationalMemory {
  const { memory } = options;
  const writer = createMemoryWriter(options);
  return {
    tools: [
      listObservationsTool(memory),
      listReflectionsTool(memory),
      recordTool(memory),
      summarizeTool(writer),
    ],
    remembering: {
      recall: (run) => recall(run, options),
      runEnded: (task) => writer.runEnded(task),
    },
    close: () => writer.close(),
  };
}
