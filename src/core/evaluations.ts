/** The use of a task with the tasks below it. */
export interface Use {
  readonly tokens: number;
  readonly turns: number;
  readonly seconds: number;
  /** Undefined when a model has no price. */
  readonly cost?: number;
}

/** The result of one case, or in a live run of one case with one model, instruction and repeat. */
export interface CaseResult extends Partial<Use> {
  readonly name: string;
  /** The file of the case. */
  readonly file: string;
  /** The member of `models`, `instructions` and `repeats` that was tried. */
  readonly model?: string;
  readonly instruction?: string;
  readonly repeat?: number;
  readonly passed: boolean;
  /** A sentence for each expectation that does not hold. */
  readonly failures: readonly string[];
  /** The task that was checked. */
  readonly taskId?: string;
  /** The file with that task. */
  readonly record?: string;
}

export type Figure = 'cost' | 'tokens' | 'seconds';

export interface Spread {
  readonly mean: number;
  /** The standard deviation of the repeats. */
  readonly deviation: number;
}

/** The results of a case with one model and one instruction, before and now. */
export interface CaseChange extends Pick<CaseResult, 'name' | 'file' | 'model' | 'instruction'> {
  /** `unclear`: another number of repeats passed, but that many differ by chance too. */
  readonly change: 'better' | 'worse' | 'same' | 'unclear' | 'new' | 'gone';
  /** The number of repeats that passed, of all; undefined where there is none. */
  readonly before?: readonly [passed: number, all: number];
  readonly now?: readonly [passed: number, all: number];
  /** The figures that differ by more than their repeats do. */
  readonly figures: Readonly<Partial<Record<Figure, { readonly before: Spread; readonly now: Spread }>>>;
}

/** The findings of a night. They hold counts and names, and no contents. */
export interface DriftReport {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The tasks that were compared, and those of them whose models would be asked something else now. */
  readonly tasks: number;
  readonly changedTasks: number;
  readonly turns: number;
  readonly changedTurns: number;
  /** Each part that is another now, with the number of turns. */
  readonly changes: readonly { readonly what: string; readonly turns: number }[];
}

/** The results of a run for one file of cases. */
interface FileFigures {
  readonly file: string;
  readonly cases: number;
  readonly results: number;
  readonly passed: number;
  /** The tasks whose use is known, and their time. */
  readonly tasks: number;
  readonly seconds: number;
  /** Absent when a task has no price. */
  readonly cost?: number;
}

/** A run in one line. */
export interface RunLine {
  readonly name: string;
  /** The end of the run, or the newest task of one that has not ended, in milliseconds since the epoch. */
  readonly at: number;
  readonly hasEnded: boolean;
  /** The tasks that are done. */
  readonly tasks: number;
  /** Empty for a run that has not ended. */
  readonly files: readonly FileFigures[];
}

/** A run that has ended, compared with another one. */
export interface EvaluationRun {
  readonly name: string;
  readonly at: number;
  readonly currency: string;
  readonly results: readonly CaseResult[];
  /** The run that it is compared with; absent for the first one of its cases. */
  readonly before?: string;
  readonly changes: readonly CaseChange[];
}

/** The newest runs and nights of a data folder, the newest first. */
export interface Evaluations {
  readonly currency: string;
  readonly runs: readonly RunLine[];
  readonly nights: readonly DriftReport[];
}
