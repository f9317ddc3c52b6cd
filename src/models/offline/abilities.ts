import { isJsonObject, type JsonObject } from '../../core/json.js';
import type { Example, FunctionSpec } from '../../core/model.js';
import { TRANSFER } from './control.js';
import { parameterSchema } from './kinds.js';
import { compileTemplate, type Template } from './template.js';

/** One way to ask for one function. */
export interface Ability {
  readonly spec: FunctionSpec;
  readonly example: Example;
  readonly template: Template;
  /** For the delegation function: the agent that the example is for. */
  readonly agent: string | undefined;
  /** False for wordings that are understood but were published by nobody. */
  readonly isPublished: boolean;
}

/**
 * All that can be asked for. With the delegation function among them, only delegations: an
 * orchestrator has no tools of its own.
 */
export function readAbilities(functions: readonly FunctionSpec[]): readonly Ability[] {
  const transfer = functions.find((spec) => spec.name === TRANSFER);
  if (!transfer) return functions.flatMap((spec) => published(spec));
  const agents = agentNames(transfer);
  const direct = agents.flatMap((agent) => DIRECT_WORDINGS.map((wording) => wording(agent)));
  const known = published(transfer).filter(({ agent }) => agent !== undefined && agents.includes(agent));
  return [
    ...known,
    ...direct
      .flatMap((example) => toAbility(transfer, example))
      .map((way) => ({ ...way, isPublished: false })),
  ];
}

/** "ask the navigator to open example.com": a person may name the agent. */
const DIRECT_WORDINGS: readonly ((agent: string) => Example)[] = ['ask', 'tell', 'let', 'have'].flatMap(
  (verb) => [
    (agent: string) => directExample(agent, `${verb} ${agent} {task}`),
    (agent: string) => directExample(agent, `${verb} ${agent} to {task}`),
    (agent: string) => directExample(agent, `${verb} ${agent} agent to {task}`),
  ],
);

function directExample(agent: string, text: string): Example {
  return { text, arguments: { agent_name: agent, request: '{task}' } };
}

function published(spec: FunctionSpec): readonly Ability[] {
  return spec.examples.flatMap((example) => toAbility(spec, example));
}

function toAbility(spec: FunctionSpec, example: Example): readonly Ability[] {
  const template = compileTemplate(example, spec.parameters);
  if (!template || !isAllowed(spec.parameters, example.arguments ?? {})) return [];
  const agent = example.arguments?.agent_name;
  const isDelegation = spec.name === TRANSFER && typeof agent === 'string';
  return [{ spec, example, template, agent: isDelegation ? agent : undefined, isPublished: true }];
}

/** False when a fixed argument is none of the values that its parameter takes, as for an agent that left. */
function isAllowed(parameters: JsonObject, fixed: JsonObject): boolean {
  return Object.entries(fixed).every(([name, value]) => {
    const options = parameterSchema(parameters, name)?.enum;
    return !Array.isArray(options) || options.includes(value);
  });
}

function agentNames(transfer: FunctionSpec): readonly string[] {
  const options = parameterSchema(transfer.parameters, 'agent_name')?.enum;
  const names = Array.isArray(options)
    ? options
    : transfer.examples.map((example) => example.arguments?.agent_name);
  return [...new Set(names.filter((name) => typeof name === 'string'))];
}

/** Whether the parameters have one of that name; a schema that lists none takes all. */
export function hasParameter(parameters: JsonObject, name: string): boolean {
  return !isJsonObject(parameters.properties) || Object.hasOwn(parameters.properties, name);
}
