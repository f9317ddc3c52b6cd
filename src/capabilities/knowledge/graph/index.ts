import type { GraphStore } from '../stores/graph.js';
import type { Tool } from '../../../core/tool.js';
import { addTool, removeTool } from './graph-change.js';
import { queryTool, traverseTool } from './graph-query.js';

/** The tools of the knowledge graph: triples with their sources, separately for each owner. */
export function createGraphTools(graph: GraphStore): readonly Tool[] {
  return [queryTool(graph), traverseTool(graph), addTool(graph), removeTool(graph)];
}
