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
  /** For an example of the delegation function: the agent that published it. */
  readonly agent: string | undefined;
  /** False for wordings that are understood but were published by nobody. */
  readonly isPublished: boolean;
}

/** "ask the navigator to open example.com": a person may name the agent. */
const DIRECT_EXAMPLES: readonly Example[] = ['ask', 'tell', 'let', 'have']
  .flatMap((verb) => [
    `${verb} {agent_name} {task}`,
    `${verb} {agent_name} to {task}`,
    `${verb} {agent_name} agent to {task}`,
  ])
  .map((text) => ({ text, arguments: { agent_name: '{agent_name}', request: '{task}' } }));

/** What a function's examples come to: tools are offered again and again, unchanged. */
const knownAbilities = new WeakMap<FunctionSpec, readonly Ability[]>();

/**
 * All that can be asked for. With the delegation function among them, only delegations: an
 * orchestrator has no tools of its own.
 */
export function readAbilities(functions: readonly FunctionSpec[]): readonly Ability[] {
  const transfer = functions.find((spec) => spec.name === TRANSFER);
  return (transfer ? [transfer] : functions).flatMap((spec) => {
    const known = knownAbilities.get(spec) ?? abilitiesOf(spec);
    knownAbilities.set(spec, known);
    return known;
  });
}

function abilitiesOf(spec: FunctionSpec): readonly Ability[] {
  const published = spec.examples.flatMap((example) => toAbility(spec, example, true));
  if (spec.name !== TRANSFER) return published;
  const namesAreKnown = Array.isArray(parameterSchema(spec.parameters, 'agent_name')?.enum);
  const direct = (namesAreKnown ? DIRECT_EXAMPLES : []).flatMap((example) => toAbility(spec, example, false));
  return [...published.filter(({ agent }) => agent !== undefined), ...direct];
}

function toAbility(spec: FunctionSpec, example: Example, isPublished: boolean): readonly Ability[] {
  const template = compileTemplate(example, spec.parameters);
  if (!template || (isPublished && !isAllowed(spec.parameters, example.arguments ?? {}))) return [];
  const agent = isPublished && spec.name === TRANSFER ? example.arguments?.agent_name : undefined;
  return [{ spec, example, template, agent: typeof agent === 'string' ? agent : undefined, isPublished }];
}

/** False when a fixed argument is none of the values that its parameter takes, as for an agent that left. */
function isAllowed(parameters: JsonObject, fixed: JsonObject): boolean {
  return Object.entries(fixed).every(([name, value]) => {
    const options = parameterSchema(parameters, name)?.enum;
    return !Array.isArray(options) || options.includes(value);
  });
}

/** Whether the parameters have one of that name; a schema that lists none takes all. */
export function hasParameter(parameters: JsonObject, name: string): boolean {
  return !isJsonObject(parameters.properties) || Object.hasOwn(parameters.properties, name);
}
