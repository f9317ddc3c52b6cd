import type { Retrieval } from '../../core/retrieval.js';
import type { Tool } from '../../core/tool.js';
import { searchKnowledgeTool } from './search-knowledge.js';
import { searchLearningsTool } from './search-learnings.js';
import { searchWebTool } from './search-web.js';
import type { WebSearchOptions } from './web-search.js';
import { createWebSearch } from './web-search.js';

/** The family that finds what an owner keeps. */
export function createSearchTools(retrieval: Retrieval): readonly Tool[] {
  return [searchKnowledgeTool(retrieval), searchLearningsTool(retrieval)];
}

/** The tool that searches the web. */
export function createWebSearchTools(options: WebSearchOptions): readonly Tool[] {
  return [searchWebTool(createWebSearch(options))];
}
