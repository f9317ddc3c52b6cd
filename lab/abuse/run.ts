import type { SettingsInput } from '../../src/index.js';
import { describeHolds, type Hold, isTooLong } from '../watchdog.js';
import { goodCard } from './corpora.js';
import type { Case, Outcome, Scene } from './corpus.js';
import { Stage } from './stage.js';
import { Inside, Stranger } from './stranger.js';

/** The most memory at once, in megabytes (issue 15, line 8). */
const MOST_MB = 400;
const CASE_SECONDS = 60;

export interface Corpus {
  readonly cases: readonly Case[];
  readonly settings: (stranger: Stranger) => SettingsInput;
  /** The most milliseconds of work of the event loop, if not the default. */
  readonly longestWorkMs?: number;
  /** The reason why it cannot run on this machine. */
  readonly whyNot?: string | undefined;
}

/** The results of the cases of a corpus. */
export interface Row {
  readonly corpus: string;
  readonly cases: number;
  taken: number;
  refused: number;
  slowestMs: number;
  /** The longest work of the event loop's thread. */
  workMs: number;
  silentMs: number;
  peakMb: number;
  readonly findings: string[];
}

export interface RunOptions {
  /** The bound on work of the event loop. */
  readonly longestWorkMs: number;
  /** A case that takes longer is printed to standard error at once, as findings are. */
  readonly slowMs: number;
}

/** Runs the cases of a corpus one after the other on a server of its own. */
export async function run(
  name: string,
  { cases, settings, ...own }: Corpus,
  { slowMs, ...options }: RunOptions,
): Promise<Row> {
  const longestWorkMs = own.longestWorkMs ?? options.longestWorkMs;
  const row: Row = {
    ...{ corpus: name, cases: cases.length, taken: 0, refused: 0 },
    ...{ slowestMs: 0, workMs: 0, silentMs: 0, peakMb: 0, findings: [] },
  };
  const find = (what: string): void => {
    row.findings.push(what);
    console.error(`${name}: FINDING ${what}`);
  };
  if (!cases.some(({ isRight }) => isRight))
    find('no case is right, so nothing shows that its target is reached');
  await using stranger = await Stranger.open();
  // Cards are read at the start.
  stranger.answer = goodCard(stranger);
  await using inside = await Inside.open();
  await using stage = await Stage.open(settings(stranger));
  const scene = { stage, stranger, inside };
  // The first case loads and compiles code, so it is not measured.
  await cases.at(-1)?.act(scene);
  await stage.measure();
  for (const [index, one] of cases.entries()) {
    const began = performance.now();
    const outcome = await withinTime(one, scene);
    if (one.isRight && outcome === 'refused') find(`${one.name}: right input does not reach its target`);
    const ms = performance.now() - began;
    if (typeof outcome === 'string') row[outcome] += 1;
    else find(`${one.name}: ${outcome.finding}`);
    if (inside.visits > 0) find(`${one.name}: something came to a private address`);
    inside.visits = 0;
    try {
      const hold = await stage.measure();
      if (ms > slowMs)
        console.error(`${name}: ${Math.round(ms)} ms, work ${Math.round(hold.workMs)}: ${one.name}`);
      row.slowestMs = Math.max(row.slowestMs, Math.round(ms));
      row.workMs = Math.max(row.workMs, Math.round(hold.workMs));
      row.silentMs = Math.max(row.silentMs, Math.round(hold.silentMs));
      if (!isTooLong(hold, longestWorkMs)) continue;
      // Leftovers of the case before may have blocked the loop too.
      const again = await holdOf(cases.slice(Math.max(0, index - 1), index + 1), scene);
      if (isTooLong(again, longestWorkMs)) find(`${one.name}: ${describeHolds(hold, again)}`);
    } catch {
      find(`${one.name}: the server ${stage.isAlive ? 'answers no more' : 'is gone'}`);
      break;
    }
  }
  row.peakMb = await stage.peakMb();
  if (row.peakMb > MOST_MB) find(`the server had ${row.peakMb} MB at once`);
  return row;
}

async function holdOf(cases: readonly Case[], scene: Scene): Promise<Hold> {
  for (const one of cases) await withinTime(one, scene);
  return scene.stage.measure();
}

async function withinTime(one: Case, scene: Scene): Promise<Outcome> {
  const late = new Promise<Outcome>((resolve) => {
    setTimeout(
      () => resolve({ finding: `no answer within ${CASE_SECONDS} s` }),
      CASE_SECONDS * 1_000,
    ).unref();
  });
  const acting = one.act(scene).catch((error: unknown) => ({ finding: String(error) }));
  const outcome = await Promise.race([acting, late]);
  scene.stranger.cut();
  return outcome;
}
