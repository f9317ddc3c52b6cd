import type { ToolFamily } from '../core/tool.js';

export function off(name: string, key = `tools.${name}.enabled`): ToolFamily {
  return { name, state: 'off', tools: [], note: 'switched off', hint: `Set ${key}.` };
}
