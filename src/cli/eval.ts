import { writeFile } from 'node:fs/promises';
import { counted } from '../core/text.js';
import { evaluate, type CaseResult } from '../evals/evaluate.js';
import { junitXml } from '../evals/junit.js';
import { EXIT } from '../terminal/exit.js';
import { safeLine } from '../terminal/safe-text.js';
import type { Report, Terminal } from '../terminal/terminal.js';
import type { Call } from './connection.js';
import { widthOf } from './text-width.js';

interface EvalFlags {
  readonly junit?: string;
}

/** `lango eval`: replays the records of cases, and checks what is expected of them. */
export async function evaluateCases(path: string, { flags, terminal }: Call<EvalFlags>): Promise<Report> {
  const evaluation = await evaluate(path);
  const { passed, results } = evaluation;
  if (flags.junit !== undefined) await writeFile(flags.junit, junitXml(evaluation));
  const good = results.filter((result) => result.passed).length;
  return {
    json: { ...evaluation },
    lines: [...tableOf(results, terminal), `${good} of ${counted(results.length, 'case')} passed.`],
    exitCode: passed ? EXIT.ok : EXIT.failure,
  };
}

function tableOf(results: readonly CaseResult[], { paint }: Terminal): readonly string[] {
  const names = results.map(({ name }) => safeLine(name));
  const width = Math.max(...names.map(widthOf));
  return results.flatMap((result, index) => {
    const { passed, failures } = result;
    const mark = passed ? paint.green('✔') : paint.red('✘');
    const name = names[index]! + ' '.repeat(width - widthOf(names[index]!));
    const line = `${mark} ${name}  ${paint.dim(useText(result))}`.trimEnd();
    return [line, ...failures.map((failure) => `    ${safeLine(failure)}`)];
  });
}

function useText({ tokens, turns, cost, seconds }: CaseResult): string {
  if (tokens === undefined) return '';
  const money = cost === undefined ? 'no price' : cost.toFixed(4);
  return [`${tokens} tokens`, `${turns} turns`, money, `${seconds!.toFixed(1)} s`].join('  ');
}
