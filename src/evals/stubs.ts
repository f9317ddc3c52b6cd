import { canonicalJson } from '../core/canonical-json.js';
import type { Json, JsonObject } from '../core/json.js';
import type { Tool, ToolOutput } from '../core/tool.js';
import type { TaskFile } from '../replay/task-file.js';
import type { EvalCase, Stub } from './case-file.js';
import { holdsAll } from './expectations.js';

/**
 * Makes the function that replaces tools by what a case says about them: a stub, the result of the record, or the tool
 * itself. Approvals are asked as for the tool.
 */
export function toolsOf({ stubs = [], tools }: EvalCase, record: TaskFile | undefined): (tool: Tool) => Tool {
  const recorded = tools === 'recorded' ? resultsIn(record) : undefined;
  const calls = new Map<string, number>();
  const outputOf = (tool: string, given: JsonObject): ToolOutput | undefined => {
    const stub = stubs.find((one) => one.tool === tool && fits(one, given));
    if (stub || !recorded) return stub && stubOutput(stub);
    const key = keyOf(tool, given);
    const results = recorded.get(key) ?? [];
    const number = calls.get(key) ?? 0;
    calls.set(key, number + 1);
    const content = 'The record of this case has no such call. Its results are the only ones that there are.';
    return results[Math.min(number, results.length - 1)] ?? { content, isError: true };
  };
  const isReplaced = ({ name }: Tool, input: object): boolean =>
    recorded !== undefined || stubs.some((one) => one.tool === name && fits(one, input as JsonObject));
  return (tool) => {
    if (!recorded && stubs.every((one) => one.tool !== tool.name)) return tool;
    return {
      ...tool,
      effectOf: (input) => (isReplaced(tool, input) ? 'pure' : (tool.effectOf?.(input) ?? tool.effect)),
      execute: async (input, context) =>
        outputOf(tool.name, input as JsonObject) ?? tool.execute(input, context),
      ...(tool.check && {
        check: async (input, context) => (isReplaced(tool, input) ? undefined : tool.check!(input, context)),
      }),
      ...(tool.settle && {
        settle: async (input, context) =>
          isReplaced(tool, input) ? undefined : tool.settle!(input, context),
      }),
    };
  };
}

function fits(stub: Stub, given: JsonObject): boolean {
  return holdsAll(given, stub.arguments ?? {});
}

const stubOutput = ({ result, isError }: Stub): ToolOutput => ({
  content: result,
  ...(isError && { isError }),
});

const keyOf = (tool: string, given: Json): string => `${tool} ${canonicalJson(given)}`;

/** The results of the calls of all tasks of a record, by tool and arguments, the first one first. */
function resultsIn(record: TaskFile | undefined): ReadonlyMap<string, readonly ToolOutput[]> {
  const all = new Map<string, ToolOutput[]>();
  for (const { events } of record?.tasks ?? []) {
    const keys = new Map<string, string>();
    for (const { body } of events) {
      if (body.type === 'tool-call') keys.set(body.step, keyOf(body.tool, body.arguments));
      const key = body.type === 'tool-result' ? keys.get(body.step) : undefined;
      if (body.type !== 'tool-result' || key === undefined) continue;
      const { content, isError } = body.result;
      const output = { content, isError, ...(body.fromOutside && { fromOutside: true }) };
      all.set(key, [...(all.get(key) ?? []), output]);
    }
  }
  return all;
}
