import type { Distiller, DistillRequest } from '../../core/model.js';
import type { NewObservation, NewReflection, Observation } from './memory-store.js';
import { oneLine, shorten } from '../../core/text.js';
import { formatTime, type TaskTranscript } from './transcript.js';

/** The author of observations when no model is configured. */
const RULES = 'rules';

const SENTENCE_MAX_LENGTH = 200;

const OBSERVE = `You keep the memory of an assistant. From a part of a conversation, note what will matter later: what the user wants, prefers,
decided or said about themselves and their work; what was done and what came of it; names, numbers, dates and places exactly as they stand.
One fact a line, each understandable by itself, newest last. Leave out greetings, what any assistant knows, and every password, key or token.`;

const REFLECT = `You keep the memory of an assistant. Condense these dated observations into fewer: join what belongs together, keep what still holds,
drop what was overtaken, and keep names, numbers and dates exactly. One line each, understandable by itself.`;

/** Makes observations from transcripts. Without a distiller, fixed rules record each request and the start of its output. */
export async function observe(
  transcripts: readonly TaskTranscript[],
  distiller: Distiller | undefined,
  { scope, signal }: Pick<DistillRequest, 'scope' | 'signal'>,
): Promise<readonly NewObservation[]> {
  if (!distiller) {
    return transcripts.map((transcript) => {
      const { taskId, at, fromOutside } = transcript;
      return { text: summarizeByRule(transcript), at, tasks: [taskId, taskId], by: RULES, fromOutside };
    });
  }
  const text = transcripts.map((transcript) => transcript.text).join('\n\n');
  const lines = await distiller.distill({ scope, instruction: OBSERVE, text, signal });
  const { at, taskId: last } = transcripts.at(-1)!;
  const tasks = [transcripts[0]!.taskId, last] as const;
  const fromOutside = transcripts.some((transcript) => transcript.fromOutside);
  return lines.map((line) => ({ text: line, at, tasks, by: distiller.by, fromOutside }));
}

/** Condenses observations, given oldest first. */
export async function reflect(
  observations: readonly Observation[],
  distiller: Distiller | undefined,
  { scope, signal }: Pick<DistillRequest, 'scope' | 'signal'>,
): Promise<NewReflection> {
  const range = {
    from: observations[0]!.at,
    to: observations.at(-1)!.at,
    fromOutside: observations.some(({ fromOutside }) => fromOutside),
  };
  const dated = observations.map(({ at, text }) => `${formatTime(at)}: ${text}`);
  if (!distiller) return { ...range, text: dated.map(withoutOutput).join('\n'), by: RULES };
  const lines = await distiller.distill({ scope, instruction: REFLECT, text: dated.join('\n'), signal });
  return { ...range, text: lines.join('\n'), by: distiller.by };
}

function summarizeByRule({ request, output }: TaskTranscript): string {
  const asked =
    request === '' ? 'The user sent something without text' : `The user asked: "${sentence(request)}"`;
  return output === ''
    ? `${asked}; there was no answer.`
    : `${asked}; the answer began: "${sentence(output)}"`;
}

/** The first sentence, shortened to the maximum length. */
function sentence(text: string): string {
  const line = oneLine(text);
  const end = /[.!?。！？](?=\s|$)/.exec(line);
  const first = end ? line.slice(0, end.index + 1) : line;
  return shorten(first, SENTENCE_MAX_LENGTH);
}

/** Without a model, a reflection keeps the requests and drops the outputs. */
function withoutOutput(line: string): string {
  return line.split('; the answer began: ')[0]!;
}
