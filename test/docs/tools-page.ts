import { readFileSync } from 'node:fs';

/** One row of a table in docs/internals/tools.md. */
export interface PageRow {
  readonly tool: string;
  readonly sentence: string;
  /** The id of the conversation, for a tool that works on the open page of a conversation. */
  readonly context: string | undefined;
  readonly effect: string;
  readonly danger: string;
  /** Each a file below test/ and a part of a title in it. */
  readonly tests: readonly (readonly [file: string, title: string])[];
}

const ROW = /^\| `(\w+)` \| `npx lango send (?:--context (\w+) )?"(.+)"` \| (\w+) \| ([\w, ]+) \| (.*) \|$/;

export function readToolsPage(): readonly PageRow[] {
  const lines = readFileSync('docs/internals/tools.md', 'utf8').split('\n');
  return lines.flatMap((line) => {
    const [, tool, context, sentence, effect, danger, tests] = ROW.exec(line) ?? [];
    if (tool === undefined) return [];
    const named = [...tests!.matchAll(/`([^`]+\.test\.ts)` "([^"]+)"/g)];
    return [
      {
        ...{ tool, context, sentence: sentence!, effect: effect!, danger: danger! },
        tests: named.map(([, file, title]) => [file!, title!] as const),
      },
    ];
  });
}
