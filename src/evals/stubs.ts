import { RecordedResults } from '../agents/recorded-calls.js';
import { defined, type JsonObject } from '../core/json.js';
import type { Tool } from '../core/tool.js';
import type { TaskFile } from '../replay/task-file.js';
import type { EvalCase } from './case-file.js';
import { holdsAll } from './expectations.js';

/**
 * Makes the function that replaces tools by what a case says about them: a stub, the result of the record, or the tool
 * itself. Approvals are asked as for the tool.
 */
export function toolsOf({ stubs = [], tools, at = 0 }: EvalCase, record: TaskFile | undefined) {
  const recorded = tools === 'recorded' ? new RecordedResults() : undefined;
  const usedUntil = record?.tasks[0]!.events[at - 1]?.at ?? 0;
  for (const { events } of record?.tasks ?? [])
    recorded?.add(events, events.findLast((event) => event.at <= usedUntil)?.seq);
  return (tool: Tool): Tool => {
    const own = stubs.filter((stub) => stub.tool === tool.name);
    if (!recorded && own.length === 0) return tool;
    const stubOf = (input: object) =>
      own.find(({ arguments: wanted = {} }) => holdsAll(input as JsonObject, wanted));
    const isReplaced = (input: object): boolean => (recorded ?? stubOf(input)) !== undefined;
    return {
      ...tool,
      effectOf: (input) => (isReplaced(input) ? 'pure' : (tool.effectOf?.(input) ?? tool.effect)),
      check: async (input, context) => (isReplaced(input) ? undefined : tool.check?.(input, context)),
      async execute(input, context) {
        const stub = stubOf(input);
        if (stub) return { content: stub.result, ...defined({ isError: stub.isError }) };
        if (!recorded) return tool.execute(input, context);
        const known = recorded.next(tool.name, input as JsonObject);
        if (!known) return { content: NOT_RECORDED, isError: true };
        const { content, isError } = known.result;
        return { content, isError, ...defined({ fromOutside: known.fromOutside }) };
      },
    };
  };
}

const NOT_RECORDED =
  'The record of this case has no such call. Its results are the only ones that there are.';
