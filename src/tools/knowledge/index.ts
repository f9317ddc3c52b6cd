import type { Tool } from '../../core/tool.js';
import type { KnowledgeOptions } from './options.js';
import { saveKnowledgeTool } from './save-knowledge.js';
import { saveLearningTool } from './save-learning.js';

/** The family that keeps facts and learnings, each owner's own. */
export function createKnowledgeTools(options: KnowledgeOptions): readonly Tool[] {
  return [saveKnowledgeTool(options), saveLearningTool(options)];
}
