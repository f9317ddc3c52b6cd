import { readFile, readdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { lineOfProblem } from '../config/problems.js';
import { parsedBy } from '../config/text-source.js';
import { codeOf, LangoError } from '../core/errors.js';
import { TASK_STATES } from '../core/task-states.js';
import { parseTaskFile, parseTaskText, type TaskFile } from '../replay/task-file.js';

const text = z.string().min(1);
const amount = z.number().min(0);
const count = z.int().min(0);
const position = z.int().min(1);
const texts = z.array(text).min(1);
const data = z.record(z.string(), z.json());

/** Each expectation has exactly one of these keys. */
const SUBJECTS = {
  state: z.enum(TASK_STATES).describe('The state of the task at its end.'),
  contains: text.describe('A text that the answer contains.'),
  equals: text.describe('The whole answer, without space around it.'),
  matches: text
    .refine(isPattern, 'is no regular expression')
    .describe('A regular expression that matches a part of the answer.'),
  schema: data.describe('JSON Schema of the answer: of its data, or of its text as JSON.'),
  rule: text.describe(
    'A JavaScript file, relative to this file. Its function `rule` gets `{answer, events, tasks}` and returns true, or a text that says what is wrong.',
  ),
  judge: text.describe(
    'What a good answer is, in words. A model decides, and its answer is kept in the record.',
  ),
  asked: text.describe('The name of an agent that another one delegated to.'),
  tool: text.describe('The name of a tool that an agent called.'),
  order: z
    .array(text)
    .min(2)
    .describe('Names of tools and agents that were called in this order. Others may be between them.'),
  cost: amount.describe('The most money that the task and the tasks below it cost.'),
  tokens: count.describe('The most input and output tokens of the task and the tasks below it.'),
  turns: count.describe('The most answers of models in the task and the tasks below it.'),
  seconds: amount.describe('The most time from the first message to the end.'),
};

const expectation = z
  .strictObject({
    ...SUBJECTS,
    not: z.boolean().describe('`true`: the task passes when this does not hold.'),
    arguments: data.describe('With `tool`: only calls whose arguments have these values count.'),
    times: count.describe('With `tool` or `asked`: exactly this often. Default: at least once.'),
    most: count.describe('With `tool` or `asked`: at most this often.'),
  })
  .partial()
  .superRefine((given, context) => {
    const subjects = Object.keys(SUBJECTS).filter((key) => key in given);
    if (subjects.length !== 1)
      context.addIssue(`must have exactly one of these keys: ${Object.keys(SUBJECTS).join(', ')}`);
    const isCall = 'tool' in given || 'asked' in given;
    if (!isCall && ('times' in given || 'most' in given))
      context.addIssue('`times` and `most` belong to `tool` or `asked`');
    if (given.arguments && !given.tool) context.addIssue('`arguments` belongs to `tool`');
  });

const stub = z.strictObject({
  tool: text.describe('The name of the tool.'),
  arguments: data
    .optional()
    .describe('Only calls whose arguments have these values get this result. Default: all calls.'),
  result: z.json().describe('What the call returns.'),
  isError: z.boolean().optional().describe('`true`: the call fails with this result.'),
});

const evalCase = z
  .strictObject({
    name: text.describe('What the case shows, as a sentence. Unique in the file.'),
    record: text.describe('The file of `lango tasks export`. With `--live --record` it is written.'),
    at: position.describe(
      'A live run goes on after this event of the record, like `lango fork`. The record stays as it is. Default: it begins anew.',
    ),
    messages: texts.describe(
      'What a live run sends, one after the other. Default: the messages of the record, with `at` those after that event.',
    ),
    agent: text.describe(
      'The agent that a live run sends to. Default: that of the record, or the root agent.',
    ),
    tools: z
      .enum(['live', 'recorded'])
      .describe(
        '`live`: a live run calls tools, in a workspace of its own. `recorded`: a call with arguments that are in the record gets that result, any other one fails. Default: `live`.',
      ),
    stubs: z
      .array(stub)
      .describe('Results that a live run gives in place of calling a tool. The first that fits counts.'),
    approve: z.boolean().describe('`true`: a live run approves every call that waits for a person.'),
    expect: z.array(expectation).min(1).describe('What must hold. Each entry is one expectation.'),
  })
  .partial()
  .required({ name: true, expect: true })
  .superRefine((given, context) => {
    if (given.record !== undefined) return;
    if (given.messages === undefined) context.addIssue('must have a `record` or `messages`');
    if (given.tools === 'recorded') context.addIssue('has `tools: recorded` without a `record`');
    if (given.at !== undefined) context.addIssue('has `at` without a `record`');
  });

const model = z.union([
  text,
  z.strictObject({
    provider: z.enum(['anthropic', 'openai', 'ai-sdk', 'offline']).optional().describe('Its vendor.'),
    name: text.optional().describe("The vendor's name of it."),
    baseUrl: z.url().optional().describe('The address of its server.'),
  }),
]);

const caseFile = z
  .strictObject({
    models: z
      .array(model)
      .min(1)
      .describe(
        'The models that a live run compares: names, or keys as in `agent.models`. Default: that of the configuration.',
      ),
    instructions: texts.describe(
      'Files with rules for all agents (`agent.houseRulesFile`), which a live run compares.',
    ),
    judge: model.describe('The model that judges. Default: that of the configuration.'),
    repeats: position.max(100).describe('How often a live run does each. Default: 1.'),
    cases: z
      .array(evalCase)
      .min(1)
      .superRefine((cases, context) => {
        const names = cases.map(({ name }) => name);
        const twice = names.find((name, index) => names.indexOf(name) < index);
        if (twice !== undefined) context.addIssue(`two have the name "${twice}"`);
      })
      .describe('The cases.'),
  })
  .partial()
  .required({ cases: true });

export type ModelEntry = z.infer<typeof model>;
export type Expectation = z.infer<typeof expectation>;
export type EvalCase = z.infer<typeof evalCase>;

export interface CaseFile extends z.infer<typeof caseFile> {
  /** Other paths in it are relative to its folder. */
  readonly path: string;
}

/** The JSON Schema of a file of cases, for other programs. */
export function caseFileJsonSchema(): object {
  return z.toJSONSchema(caseFile, { io: 'input' });
}

const EXTENSION = /\.ya?ml$/;

/** Reads the files of cases at a path: one file, or all below a folder. Rejects with `invalid-input` that lists all problems. */
export async function readCases(path: string): Promise<readonly CaseFile[]> {
  const files = await caseFilesAt(path);
  const read = await Promise.all(
    files.map(async (file) => ({
      path: file,
      ...parsedBy(caseFile, await readFile(file, 'utf8'), { file, syntax: 'yaml' }),
    })),
  );
  const lines = read.flatMap(({ problems }) => problems).map((problem) => `  ${lineOfProblem(problem)}`);
  const hint = 'The keys are in docs/reference/evaluations.md.';
  if (lines.length > 0)
    throw new LangoError('invalid-input', ['The cases cannot be read:', ...lines].join('\n'), { hint });
  return read.map(({ data, path: file }) => ({ ...data!, path: file }));
}

async function caseFilesAt(path: string): Promise<readonly string[]> {
  const found = await stat(path).catch((cause: unknown) => {
    throw new LangoError('not-found', `${path} cannot be read (${codeOf(cause)}).`, { hint: HINT, cause });
  });
  if (!found.isDirectory()) return [path];
  const names = await readdir(path, { recursive: true });
  const files = names.filter((name) => EXTENSION.test(name) && !name.includes('node_modules')).sort();
  if (files.length === 0)
    throw new LangoError('not-found', `There is no YAML file of cases in ${path}.`, { hint: HINT });
  return files.map((name) => join(path, name));
}

const HINT = 'Make cases of real tasks with: lango eval new';

/** The path of a file that a file of cases names. */
export function besides({ path }: Pick<CaseFile, 'path'>, name: string): string {
  return resolve(dirname(path), name);
}

export async function readRecord(path: string): Promise<TaskFile> {
  const hint = 'Write it with: lango tasks export ID --out FILE';
  return parseTaskFile(parseTaskText(await readNamed(path, { what: 'record', hint })));
}

/** Reads a file that a case names. Rejects with `not-found`. */
export function readNamed(path: string, { what, hint }: Readonly<Record<'what' | 'hint', string>>) {
  return readFile(path, 'utf8').catch((cause: unknown) => {
    const text = `The ${what} ${path} cannot be read (${codeOf(cause)}).`;
    throw new LangoError('not-found', text, { hint, cause });
  });
}

function isPattern(source: string): boolean {
  try {
    return new RegExp(source, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}
