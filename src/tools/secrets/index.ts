import type { SecretKeeper } from '../../core/secrets.js';
import type { Tool } from '../../core/tool.js';
import { secretsDeleteTool } from './secrets-delete.js';
import { secretsGetTool } from './secrets-get.js';
import { secretsListTool } from './secrets-list.js';
import { secretsStoreTool } from './secrets-store.js';

/** The family that keeps secrets. None of its answers holds a value. */
export function createSecretsTools(keeper: SecretKeeper): readonly Tool[] {
  return [
    secretsStoreTool(keeper),
    secretsGetTool(keeper),
    secretsListTool(keeper),
    secretsDeleteTool(keeper),
  ];
}
