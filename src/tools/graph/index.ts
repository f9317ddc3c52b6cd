import type { GraphStore } from '../../core/graph.js';
import type { Tool } from '../../core/tool.js';
import { addTool } from './graph-add.js';
import { queryTool } from './graph-query.js';
import { removeTool } from './graph-remove.js';
import { traverseTool } from './graph-traverse.js';

export { Extractor } from './extractor.js';

/** The family of the knowledge graph: triples with their sources, each owner's own. */
export function createGraphTools(graph: GraphStore): readonly Tool[] {
  return [queryTool(graph), traverseTool(graph), addTool(graph), removeTool(graph)];
}
