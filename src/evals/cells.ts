import { createHash } from 'node:crypto';
import { basename, resolve } from 'node:path';
import { canonicalJson } from '../core/canonical-json.js';
import { LangoError } from '../core/errors.js';
import { textPart, type Part } from '../core/message.js';
import { repliesIn } from '../core/questions.js';
import type { TaskFile } from '../replay/task-file.js';
import {
  besides,
  readNamed,
  readRecord,
  type CaseFile,
  type EvalCase,
  type ModelEntry,
} from './case-file.js';

/** One run of one case: with one model, one instruction, and for one repeat. */
export interface Cell {
  readonly file: CaseFile;
  readonly one: EvalCase;
  /** Undefined for the model of the configuration. */
  readonly model: ModelEntry | undefined;
  readonly instruction: string | undefined;
  readonly repeat: number;
  /** Whether it is the first one of its case. */
  readonly isFirst: boolean;
  readonly messages: readonly (readonly Part[])[];
  readonly agent: string | undefined;
  readonly record: TaskFile | undefined;
  /** The name of its folder and file: equal for equal work, so that a run which was interrupted finds what it did. */
  readonly id: string;
}

/** The cells of all cases, the models one after the other. Rejects when a record or an instruction cannot be read. */
export async function cellsOf(files: readonly CaseFile[], ofRecords: boolean): Promise<readonly Cell[]> {
  return (await Promise.all(files.map((file) => cellsOfFile(file, ofRecords)))).flat();
}

/** `ofRecords`: one cell for each case, in place of all that a live run compares. */
async function cellsOfFile(file: CaseFile, ofRecords: boolean): Promise<readonly Cell[]> {
  const variants = ofRecords ? [{ model: undefined, instruction: undefined, repeat: 1 }] : variantsOf(file);
  const cells: Cell[] = [];
  for (const one of file.cases) {
    const needsRecord = ofRecords || !one.messages || one.tools === 'recorded' || one.at !== undefined;
    if (needsRecord && one.record === undefined)
      throw new LangoError('invalid-input', `${file.path}: the case "${one.name}" has no record.`);
    const record = needsRecord ? await readRecord(besides(file, one.record!)) : undefined;
    const messages = one.messages?.map((text) => [textPart(text)]) ?? messagesIn(record!, one.at);
    const agent = one.agent ?? record?.tasks[0]!.agent;
    const { expect, record: _, ...work } = one;
    const rubrics = expect.flatMap(({ judge }) => judge ?? []);
    for (const [index, { model, instruction, repeat }] of variants.entries()) {
      const text = instruction === undefined ? '' : await readNamed(instruction, RULES);
      const varied = [model ?? '', text, repeat];
      const id = `${basename(file.path)}-${hashOf([resolve(file.path), work, rubrics, file.judge ?? '', varied, messages])}`;
      const about = { file, one, model, instruction, repeat, messages, agent, record };
      cells.push({ ...about, isFirst: index === 0, id });
    }
  }
  return cells;
}

const RULES = { what: 'file of rules', hint: 'Name files in `instructions` of the file of cases.' };

function variantsOf(file: CaseFile): readonly Pick<Cell, 'model' | 'instruction' | 'repeat'>[] {
  const { models = [undefined], instructions = [undefined], repeats = 1 } = file;
  return models.flatMap((model) =>
    instructions.flatMap((name) => {
      const instruction = name === undefined ? undefined : besides(file, name);
      return Array.from({ length: repeats }, (_, index) => ({ model, instruction, repeat: index + 1 }));
    }),
  );
}

const ID_DIGITS = 16;

function hashOf(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, ID_DIGITS);
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
  if (!reply) return [part];
  return typeof reply['text'] === 'string' && reply['text'] !== '' ? [textPart(reply['text'])] : [];
}

/** The name of a model in results. */
export function modelName(model: ModelEntry | undefined): string | undefined {
  if (model === undefined || typeof model === 'string') return model;
  return model.name ?? model.provider ?? model.baseUrl;
}
