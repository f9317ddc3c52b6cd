import { readFile } from 'node:fs/promises';
import { eventsIn, type EventRow } from '../../src/storage/event-rows.js';
import { EVENT_TEXT } from '../../src/storage/postgres/database.js';
import type { Client, Story } from './client.js';
import type { Database } from './database.js';

interface LoggedEvent {
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  readonly body: {
    readonly state?: string;
    readonly key?: string;
    readonly step?: string;
    readonly tool?: string;
  };
}

const TERMINAL = new Set(['completed', 'failed', 'canceled', 'rejected']);

/**
 * Compares what the clients saw and what the tools did with the log in the database. Resolves with the findings, one
 * sentence each.
 */
export async function check(
  stories: readonly Story[],
  {
    database,
    client,
    marks,
  }: { readonly database: Database; readonly client: Client; readonly marks: string },
): Promise<readonly string[]> {
  const made = await readMarks(marks);
  const findings: string[] = [];
  for (const story of stories) {
    const { taskId } = story;
    const log = await readLog(database, taskId);
    if (log.length === 0) {
      findings.push(`${taskId}: acknowledged, and lost`);
      continue;
    }
    const wrong = [
      ...checkLog(log),
      ...checkCalls(log, made),
      ...checkSeen(story, await client.whole(taskId)),
    ];
    if (wrong.length > 0) findings.push(`${taskId}: ${wrong.join(', ')}. ${course(log)}`);
  }
  const sql = "SELECT id FROM tasks WHERE state IN ('submitted', 'working')";
  for (const { id } of await database.rows<{ id: string }>(sql)) findings.push(`${id}: never ended`);
  return findings;
}

/** Ordered by number. `at` is in milliseconds since the epoch. */
export async function readLog(database: Database, taskId: string): Promise<readonly LoggedEvent[]> {
  const sql = `SELECT seq::float8 AS seq, at::float8 AS at, author, checksum, ${EVENT_TEXT} FROM events
    WHERE task = (SELECT key FROM tasks WHERE id = $1) ORDER BY seq`;
  const rows = await database.rows<EventRow>(sql, taskId);
  return rows.flatMap(eventsIn).map(({ seq, at, body: text }) => {
    const body = JSON.parse(text) as LoggedEvent['body'] & Pick<LoggedEvent, 'type'>;
    return { seq, at, type: body.type, body };
  });
}

function checkLog(log: readonly LoggedEvent[]): readonly string[] {
  const findings: string[] = [];
  if (log.some(({ seq }, index) => seq !== index + 1)) findings.push('its log has a gap');
  const ends = log.filter(({ type, body }) => type === 'run-end' && TERMINAL.has(body.state ?? ''));
  if (ends.length !== 1) findings.push(`it has ${ends.length} terminal states`);
  if (ends.some(({ body }) => body.state === 'failed')) findings.push('it failed');
  if (ends[0] && log.at(-1) !== ends[0]) findings.push('something was written after its end');
  return findings;
}

/** The log as one line, without its texts. */
function course(log: readonly LoggedEvent[]): string {
  const shown = log.filter(({ type }) => type !== 'text-delta');
  return shown
    .map(({ seq, type, body }) => `${seq} ${type} ${body.step ?? body.state ?? ''}`.trim())
    .join(', ');
}

/** A call whose result is in the log is not made again, and one that cannot be repeated safely is made once at most. */
function checkCalls(log: readonly LoggedEvent[], made: Marks): readonly string[] {
  const findings: string[] = [];
  const calls = log.filter(({ type }) => type === 'tool-call');
  for (const { body } of calls) {
    const times = made.get(body.key ?? '') ?? [];
    const result = log.find(({ type, body: { step } }) => type === 'tool-result' && step === body.step);
    if (result && times.some((at) => at > result.at))
      findings.push(`${body.tool} was repeated after its result`);
    if (body.tool === 'exec_strike' && times.length > 1)
      findings.push(`exec_strike was made ${times.length} times`);
  }
  return findings;
}

function checkSeen({ seen }: Story, whole: readonly number[]): readonly string[] {
  const isDoubled = seen.some((seq, index) => index > 0 && seq <= seen[index - 1]!);
  if (isDoubled) return ['a client was shown an event twice, or out of order'];
  return seen.join() === whole.join()
    ? []
    : [`a client was shown ${seen.length} events, and ${whole.length} can be read`];
}

/** The times at which the tools wrote their marks, by the key of the call. */
type Marks = ReadonlyMap<string, readonly number[]>;

async function readMarks(file: string): Promise<Marks> {
  const lines = (await readFile(file, 'utf8')).trim().split('\n');
  const marks = Map.groupBy(lines, (line) => line.split(' ')[1]!);
  return new Map([...marks].map(([key, ofKey]) => [key, ofKey.map((line) => Number(line.split(' ')[2]))]));
}
