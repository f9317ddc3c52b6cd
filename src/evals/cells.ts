import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { canonicalJson } from '../core/canonical-json.js';
import { textPart, type Part } from '../core/message.js';
import { repliesIn } from '../core/questions.js';
import type { TaskFile } from '../replay/task-file.js';
import { besides, type CaseFile, type EvalCase, type ModelEntry } from './case-file.js';
import { readRecord } from './check.js';

/** One run of one case: with one model, one instruction, and for one repeat. */
export interface Cell {
  readonly file: CaseFile;
  readonly one: EvalCase;
  /** Undefined for the model of the configuration. */
  readonly model: ModelEntry | undefined;
  readonly instruction: string | undefined;
  readonly repeat: number;
  /** Whether model and instruction are the first ones of the file. */
  readonly isFirst: boolean;
  readonly messages: readonly (readonly Part[])[];
  readonly agent: string | undefined;
  readonly record: TaskFile | undefined;
  /** The name of its folder: equal for equal work, so that a run which was interrupted finds what it did. */
  readonly id: string;
}

/** The cells of all cases, the models one after the other. Rejects when a record or an instruction cannot be read. */
export async function cellsOf(files: readonly CaseFile[]): Promise<readonly Cell[]> {
  return (await Promise.all(files.map(cellsOfFile))).flat();
}

async function cellsOfFile(file: CaseFile): Promise<readonly Cell[]> {
  const { models = [undefined], instructions = [undefined], repeats = 1 } = file;
  const cells: Cell[] = [];
  for (const one of file.cases) {
    const record =
      one.messages && one.tools !== 'recorded' ? undefined : await readRecord(besides(file, one.record!));
    const messages = one.messages?.map((text) => [textPart(text)]) ?? messagesIn(record!);
    const agent = one.agent ?? record?.tasks[0]!.agent;
    for (const model of models)
      for (const name of instructions) {
        const instruction = name === undefined ? undefined : besides(file, name);
        const text = instruction === undefined ? '' : await readFile(instruction, 'utf8');
        for (let repeat = 1; repeat <= repeats; repeat += 1) {
          const { expect: _, record: __, ...work } = one;
          const about = [resolve(file.path), work, agent ?? '', model ?? '', text, repeat, messages];
          const id = `${basename(file.path)}-${hashOf(about)}`;
          const isFirst = model === models[0] && name === instructions[0];
          cells.push({ file, one, model, instruction, repeat, isFirst, messages, agent, record, id });
        }
      }
  }
  return cells;
}

const ID_DIGITS = 16;

function hashOf(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, ID_DIGITS);
}

/** What the person said in a recorded task. Approvals are left out. */
function messagesIn({ tasks }: TaskFile): readonly (readonly Part[])[] {
  const said = tasks[0]!.events.flatMap(({ body }) => (body.type === 'message' ? [body.message.parts] : []));
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
