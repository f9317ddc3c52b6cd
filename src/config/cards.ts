import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { CardFile } from '../core/card.js';
import { errorText, LangoError } from '../core/errors.js';
import { parseJson } from '../core/json.js';
import { agentName, distinct, text } from '../core/fields.js';
import { cardDetails } from './agent-keys.js';
import { type Problem, problemsError } from './problems.js';

const mediaType = z.string().regex(/^[\w.+-]+\/[\w.+*-]+$/, 'must be a media type such as text/plain');

const skillSchema = z.strictObject({
  id: z.string().regex(/^[a-z][a-z0-9-]*$/, 'must be lower-case letters, digits and "-"'),
  name: text(),
  description: text(),
  tags: z.array(text()).min(1),
  examples: z.array(text()),
});

const cardSchema = z.strictObject({
  name: agentName(),
  description: text(),
  ...cardDetails.shape,
  defaultInputModes: z.array(mediaType).min(1),
  defaultOutputModes: z.array(mediaType).min(1),
  skills: distinct(skillSchema, (skill) => skill.id, ['id']),
}) satisfies z.ZodType<CardFile>;

const EXTENSION = '.json';

/** Reads every `NAME.json` of the folder, by agent name. Rejects with `invalid-config`, which locates each problem in all files. */
export async function loadCardFiles(folder: string): Promise<Map<string, CardFile>> {
  const files = await readdir(folder).catch((cause: unknown) => {
    const text = `The agent card folder cannot be read: ${errorText(cause)}.`;
    throw new LangoError('invalid-config', text, { cause });
  });
  const names = files.filter((name) => name.endsWith(EXTENSION)).sort();
  const results = await Promise.all(names.map((name) => loadCardFile(folder, name)));
  const problems = results.flatMap(({ problems = [] }) => problems);
  if (problems.length > 0) throw problemsError(problems, 'Correct the agent card files.');
  return new Map(results.flatMap(({ card }) => (card ? [[card.name, card]] : [])));
}

type CardResult = Readonly<{ card?: CardFile; problems?: readonly Problem[] }>;

async function loadCardFile(folder: string, fileName: string): Promise<CardResult> {
  const file = join(folder, fileName);
  const text = await readFile(file, 'utf8');
  const expected = fileName.slice(0, -EXTENSION.length);
  const card = cardSchema.safeParse(parseJson(text)).data;
  if (card?.name === expected) return { card };
  // Loaded only to locate a problem: positions need another parser.
  const { parsedBy } = await import('./text-source.js');
  const { data, problems, source } = parsedBy(cardSchema, text, { file, syntax: 'json' });
  if (!data) return { problems };
  if (data.name === expected) return { card: data };
  const problem = `must be "${expected}", the name of its file`;
  return { problems: [{ at: source.locate(['name']), key: 'name', text: problem }] };
}
