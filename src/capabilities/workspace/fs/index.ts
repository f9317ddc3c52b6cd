import type { Tool } from '../../../core/tool.js';
import { deleteTool } from './fs-delete.js';
import { editTool } from './fs-edit.js';
import { listTool } from './fs-list.js';
import { moveTool } from './fs-move.js';
import { readTool } from './fs-read.js';
import { searchTool } from './fs-search.js';
import { writeTool } from './fs-write.js';
import { Workspace, type WorkspaceParts } from './workspace.js';

export { createOwnedFiles } from './owned.js';
export { UnfinishedWrites } from './workspace.js';

export interface FsOptions extends WorkspaceParts {
  /** Maximum size of one page of `fs_read`: no larger than the tool output that a model is given. */
  readonly maxReadBytes: number;
  /** Maximum size of a file that is written or edited. */
  readonly maxWriteBytes: number;
}

/** Creates the tools that work on files. They neither read, change nor reveal anything outside the folders of the owner. */
export function createFsTools(options: FsOptions): readonly Tool[] {
  const workspace = new Workspace(options);
  const { maxReadBytes, maxWriteBytes } = options;
  return [
    readTool(workspace, maxReadBytes),
    listTool(workspace),
    searchTool(workspace),
    writeTool(workspace, maxWriteBytes),
    editTool(workspace, maxWriteBytes),
    moveTool(workspace),
    deleteTool(workspace),
  ];
}
