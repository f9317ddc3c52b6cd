import { basename, resolve } from 'node:path';
import { hashJson } from '../core/canonical-json.js';
import { LangoError } from '../core/errors.js';
import { textIn } from '../core/json.js';
import { textPart, type Part } from '../core/message.js';
import { repliesIn } from '../core/questions.js';
import type { TaskFile } from '../replay/task-file.js';
import { besides, readNamed, readRecord } from './case-file.js';
import type { CaseFile, EvalCase, ModelEntry } from './case-file.js';

/** One run of one case: with one model, one instruction, and for one repeat. */
export interface Cell {
  readonly file: CaseFile;
  readonly one: EvalCase;
  /** Undefined for the model of the configuration. */
  readonly model: ModelEntry | undefined;
  /** The path of a file of rules. */
  readonly instruction: string | undefined;
  /** Undefined when nothing is repeated. */
  readonly repeat: number | undefined;
  /** Whether it is the first one of its case. */
  readonly isFirst: boolean;
}

/** The cells of all cases, the models one after the other. Without `isLive` each case has one. */
export function cellsOf(files: readonly CaseFile[], isLive: boolean): readonly Cell[] {
  return files.flatMap((file) => {
    const models = (isLive && file.models) || [undefined];
    const instructions = (isLive && file.instructions) || [undefined];
    const times = file.repeats ?? 1;
    const repeats =
      isLive && times > 1 ? Array.from({ length: times }, (_, index) => index + 1) : [undefined];
    const variants = models.flatMap((model) =>
      instructions.flatMap((name) => {
        const instruction = name === undefined ? undefined : besides(file, name);
        return repeats.map((repeat) => ({ model, instruction, repeat }));
      }),
    );
    return file.cases.flatMap((one) =>
      variants.map((variant, index) => ({ file, one, ...variant, isFirst: index === 0 })),
    );
  });
}

export async function recordOf({ file, one: { record } }: Cell) {
  if (record === undefined) throw new LangoError('not-found', NO_RECORD);
  const path = besides(file, record);
  return { path, task: await readRecord(path) };
}

const NO_RECORD = 'It has no record. Name a file as `record`, and write it with: lango eval --live --record';

export function modelName(model: ModelEntry | undefined): string | undefined {
  if (model === undefined || typeof model === 'string') return model;
  return model.name ?? model.provider ?? model.baseUrl;
}

/** What a cell does live. */
export interface Work extends Cell {
  readonly messages: readonly (readonly Part[])[];
  readonly agent: string | undefined;
  readonly record: TaskFile | undefined;
  /** The name of its folder and file: equal for equal work, so that a run which was interrupted finds what it did. */
  readonly id: string;
}

/** Reads what the work of a cell needs. `isOfRecord`: the record itself is the work, and judges are asked about it. */
export async function workOf(cell: Cell, isOfRecord: boolean): Promise<Work> {
  const { file, one, model = '', instruction, repeat = 1 } = cell;
  const { expect, record: _, ...given } = one;
  const needsRecord = isOfRecord || !one.messages || one.tools === 'recorded' || one.at !== undefined;
  const record = needsRecord ? (await recordOf(cell)).task : undefined;
  const messages = one.messages?.map((text) => [textPart(text)]) ?? messagesIn(record!, one.at);
  const rubrics = expect.flatMap(({ judge }) => judge ?? []);
  const varied = [model, instruction === undefined ? '' : await readRules(instruction), repeat];
  const all = [resolve(file.path), given, rubrics, file.judge ?? '', varied, messages];
  const id = `${basename(file.path)}-${hashJson(all).slice(0, ID_DIGITS)}`;
  return { ...cell, messages, agent: one.agent ?? record?.tasks[0]!.agent, record, id };
}

const ID_DIGITS = 16;

export function readRules(path: string): Promise<string> {
  const hint = 'Name files in `instructions` of the file of cases.';
  return readNamed(path, { what: 'file of rules', hint });
}

/** The messages of the person in a recorded task, after an event. Approvals are left out. */
function messagesIn({ tasks }: TaskFile, after = 0): readonly (readonly Part[])[] {
  const said = tasks[0]!.events
    .slice(after)
    .flatMap(({ body }) => (body.type === 'message' ? [body.message.parts] : []));
  return said.map((parts) => parts.flatMap(withoutDecision)).filter((parts) => parts.length > 0);
}

/** The text of a reply to a question is what the person said. */
function withoutDecision(part: Part): readonly Part[] {
  const [reply] = repliesIn([part]);
  const text = reply && textIn(reply['text']);
  return text === undefined ? [part] : text === '' ? [] : [textPart(text)];
}
