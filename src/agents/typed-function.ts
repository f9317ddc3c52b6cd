import type { z } from 'zod';
import type { FunctionSpec } from '../core/model.js';
import type { AgentFunction, Call, CallOutcome } from './agent-function.js';
import { refuse } from './agent-function.js';
import type { ArgumentReader } from './arguments.js';
import { argumentReader } from './arguments.js';

interface TypedFunction<Schema extends z.ZodObject> extends Omit<FunctionSpec, 'parameters'> {
  readonly schema: Schema;
  readonly first?: boolean;
}

/** A function whose calls reach `use` with checked arguments only. */
export function typedFunction<Schema extends z.ZodObject>(
  { schema, first = false, name, description, examples }: TypedFunction<Schema>,
  use: (call: Call, input: z.infer<Schema>) => Promise<CallOutcome>,
): AgentFunction {
  const reader = argumentReader(schema);
  return {
    name,
    spec: {
      name,
      description,
      examples,
      get parameters() {
        return reader.parameters;
      },
    },
    first,
    call: (call) => withArguments(reader, call, (input) => use(call, input)),
  };
}

/** Does `use` with the arguments of the call, or tells the model what is wrong with them. */
export async function withArguments<T>(
  reader: ArgumentReader<T>,
  call: Call,
  use: (input: T) => Promise<CallOutcome>,
): Promise<CallOutcome> {
  const parsed = reader.parse(call.arguments);
  return 'problem' in parsed ? refuse(call, `invalid arguments: ${parsed.problem}`) : use(parsed.input);
}
