import type { GraphStore } from '../../core/graph.js';
import type { Tool } from '../../core/tool.js';
import { addTool, removeTool } from './graph-change.js';
import { queryTool, traverseTool } from './graph-query.js';

export { Extractor } from './extractor.js';

/** The family of the knowledge graph: triples with their sources, each owner's own. */
export function createGraphTools(graph: GraphStore): readonly Tool[] {
  return [queryTool(graph), traverseTool(graph), addTool(graph), removeTool(graph)];
}
