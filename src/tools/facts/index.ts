import type { Tool } from '../../core/tool.js';
import type { Keeping } from '../keeping.js';

export { factKey } from './fact.js';
import { memoryForgetTool } from './memory-forget.js';
import { memoryRecallTool } from './memory-recall.js';
import { memoryStoreTool } from './memory-store.js';

export { recallFacts } from './recollection.js';

/** The family that remembers facts, each owner's own. */
export function createFactTools(options: Keeping): readonly Tool[] {
  return [memoryStoreTool(options), memoryRecallTool(options), memoryForgetTool(options)];
}
