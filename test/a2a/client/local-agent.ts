import { fromAgentExecutor } from '../../../src/a2a/server/executor-adapter.js';
import type { LocalAgent } from '../../../src/a2a/translate/task-calls.js';
import { startA2aNode } from '../../support/a2a-node.js';
import { ScriptedExecutor } from './scripted-executor.js';

interface OpenLocalAgent {
  readonly executor: ScriptedExecutor;
  readonly handler: LocalAgent;
  close(): Promise<void>;
}

/** The agent of `stock-server.ts` in this process, over a journal. */
export async function openLocalAgent(name: string): Promise<OpenLocalAgent> {
  const executor = new ScriptedExecutor();
  const skill = { id: 'talk', name: 'Talk', description: 'Talks.', tags: ['talk'], examples: ['stream'] };
  const profile = { name, description: 'Does what the first word says.', skills: [skill] };
  const node = await startA2aNode({ agents: [fromAgentExecutor({ executor, profile })] });
  return { executor, handler: node.handlers.get(name)!, close: () => node.stop() };
}
