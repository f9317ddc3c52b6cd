import type { z } from 'zod';
import { AGENT_NAME, FLAT_AGENT_NAME, ORCHESTRATOR_NAME } from '../core/agent.js';
import type { CardDetails, Skill } from '../core/agent.js';
import { LangoError } from '../core/errors.js';
import type { ModelProvider } from '../core/model.js';
import type { Tool } from '../core/tool.js';
import { assertDescribable } from './arguments.js';
import { outputReader } from './output.js';

/** An agent as its author writes it: a model works through its tasks by the instruction, with the tools. */
export interface AgentDefinition {
  /** Lower-case letters, digits and hyphens, since the name is a part of the agent's address. */
  readonly name: string;
  /** One or two sentences for people and for the orchestrator, which chooses agents by them. */
  readonly description: string;
  /** The instruction of its model: its role, its work, and the content of its answer. */
  readonly instruction: string;
  /** Tools of this agent alone, whatever their prefix. Default: none. */
  readonly tools?: readonly Tool[];
  /** Default: the model of the server. */
  readonly model?: ModelProvider;
  /**
   * The schema of its answers, which are data: JSON as text, and an artifact `output` with the data. A model that does not
   * keep to it is asked once more; then the task fails and says what is wrong. Default: the answers are text.
   */
  readonly output?: z.ZodObject;
  /** The skills on the agent's card. Default: one, with the agent's name and description. */
  readonly skills?: readonly Skill[];
  /** The version, provider, icon and documentation on the agent's card. */
  readonly card?: CardDetails;
}

/** The result of `defineAgent`. The server makes the agent of it when it starts. */
export interface DefinedAgent extends AgentDefinition {
  readonly tools: readonly Tool[];
  readonly skills: readonly Skill[];
}

/** Defines an agent for `createServer`. Throws `invalid-config` for a wrong name, an empty text, or a tool no model could call. */
export function defineAgent(definition: AgentDefinition): DefinedAgent {
  const { name, description, instruction, tools = [] } = definition;
  if (!AGENT_NAME.test(name)) {
    const hint = 'Begin with a letter and use only lower-case letters, digits and hyphens, 64 at most.';
    throw new LangoError('invalid-config', `An agent cannot be named "${name}".`, { hint });
  }
  if (name === ORCHESTRATOR_NAME || name === FLAT_AGENT_NAME) {
    const hint = 'Choose another name for your agent.';
    throw new LangoError('invalid-config', `${name} is the name of the server's own root agent.`, { hint });
  }
  const empty = Object.entries({ description, instruction }).find(([, text]) => !text?.trim());
  if (empty) throw new LangoError('invalid-config', `The agent ${name} has an empty ${empty[0]}.`);
  tools.forEach(assertDescribable);
  if (definition.output) outputReader(name, definition.output);
  const skill: Skill = { id: name, name, description, tags: [name], examples: [] };
  return { ...definition, tools, skills: definition.skills ?? [skill] };
}
