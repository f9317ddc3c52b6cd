import { RecordedResults } from '../agents/recorded-calls.js';
import type { JsonObject } from '../core/json.js';
import type { Tool, ToolOutput } from '../core/tool.js';
import type { TaskFile } from '../replay/task-file.js';
import type { EvalCase, Stub } from './case-file.js';
import { holdsAll } from './expectations.js';

/**
 * Makes the function that replaces tools by what a case says about them: a stub, the result of the record, or the tool
 * itself. Approvals are asked as for the tool.
 */
export function toolsOf(
  { stubs = [], tools, at = 0 }: EvalCase,
  record: TaskFile | undefined,
): (tool: Tool) => Tool {
  const recorded = tools === 'recorded' ? new RecordedResults() : undefined;
  const usedUntil = record?.tasks[0]!.events[at - 1]?.at ?? 0;
  for (const { events } of record?.tasks ?? [])
    recorded?.add(events, events.findLast((event) => event.at <= usedUntil)?.seq);
  const outputOf = (tool: string, given: JsonObject): ToolOutput | undefined => {
    const stub = stubs.find((one) => one.tool === tool && fits(one, given));
    if (stub || !recorded) return stub && stubOutput(stub);
    const known = recorded.next(tool, given);
    if (!known) return { content: NOT_RECORDED, isError: true };
    const { result, fromOutside } = known;
    return { content: result.content, isError: result.isError, ...(fromOutside && { fromOutside }) };
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

const NOT_RECORDED =
  'The record of this case has no such call. Its results are the only ones that there are.';

function fits(stub: Stub, given: JsonObject): boolean {
  return holdsAll(given, stub.arguments ?? {});
}

const stubOutput = ({ result, isError }: Stub): ToolOutput => ({
  content: result,
  ...(isError && { isError }),
});
