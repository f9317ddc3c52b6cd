import { oneLine, shorten } from '../core/text.js';
import { textOf } from '../core/message.js';
import type { TaskFile } from '../replay/task-file.js';
import { deedsIn } from './deeds.js';

const NAME_CHARACTERS = 80;

/** Writes a file with one case of a real task, as YAML: it expects what happened. `record`: the name of the file with the task. */
export function caseText(task: TaskFile, record: string): string {
  const [root] = task.tasks;
  const first = root!.events.find(({ body }) => body.type === 'message')?.body;
  const said = first?.type === 'message' ? oneLine(textOf(first.message.parts)).trim() : '';
  const deeds = deedsIn(task);
  const calls = [...new Map(deeds.map((deed) => [`${deed.kind} ${deed.name}`, deed])).values()];
  const names = [...new Set(deeds.map(({ name }) => name))];
  return [
    'cases:',
    `  - name: ${quoted(shorten(said, NAME_CHARACTERS) || record)}`,
    `    record: ${quoted(record)}`,
    '    expect:',
    `      - state: ${root!.state}`,
    ...calls.map(({ kind, name }) => `      - ${kind === 'tool' ? 'tool' : 'asked'}: ${quoted(name)}`),
    ...(names.length > 1 ? [`      - order: [${names.map(quoted).join(', ')}]`] : []),
    '      # Say what a good answer is, with one of: contains, equals, matches, schema, rule.',
    '',
  ].join('\n');
}

/** A text of JSON is one of YAML too. */
const quoted = (text: string): string => JSON.stringify(text);
