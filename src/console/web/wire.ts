import { EXTENSIONS, FORK } from '../../core/extensions.js';
import type { ForkPlace } from '../../core/fork.js';
import type { Usage } from '../../core/model.js';
import { questionsIn } from '../../core/questions.js';
import type { Activity, Question } from '../../core/task.js';

/** The shapes of A2A 1.0 in JSON, with the extensions of Lango, as far as the pages read them. */
export interface Part {
  readonly text?: string;
  readonly data?: unknown;
  readonly raw?: string;
  readonly url?: string;
  readonly filename?: string;
  readonly mediaType?: string;
}
export interface Message {
  readonly messageId: string;
  readonly role: string;
  readonly parts: readonly Part[];
  readonly metadata?: Metadata;
}
export type Status = Readonly<{ state: string; timestamp?: string; message?: Message }>;
export interface Artifact {
  readonly artifactId: string;
  readonly name?: string;
  readonly parts: readonly Part[];
  readonly metadata?: Metadata;
}
export interface Task {
  readonly id: string;
  readonly contextId: string;
  readonly status: Status;
  readonly history?: readonly Message[];
  readonly artifacts?: readonly Artifact[];
  readonly metadata?: Metadata;
}
export interface StreamEvent {
  readonly statusUpdate?: { readonly taskId: string; readonly status: Status; readonly metadata?: Metadata };
  readonly artifactUpdate?: {
    readonly taskId: string;
    readonly artifact: Artifact;
    readonly append?: boolean;
    readonly metadata?: Metadata;
  };
}
interface Metadata {
  readonly [EXTENSIONS.author]?: { readonly author: string; readonly activity?: Activity };
  readonly [EXTENSIONS.cursor]?: { readonly seq: number };
  readonly [EXTENSIONS.usage]?: Usage;
  readonly [EXTENSIONS.chain]?: { readonly parentTaskId?: string };
  readonly [FORK]?: ForkPlace;
}
type Marked = Readonly<{ metadata?: Metadata | undefined }>;
export const authorIn = ({ metadata }: Marked) => metadata?.[EXTENSIONS.author]?.author ?? '';
export const activityIn = ({ metadata }: Marked) => metadata?.[EXTENSIONS.author]?.activity;
export const usageIn = ({ metadata }: Marked) => metadata?.[EXTENSIONS.usage];
export const forkIn = ({ metadata }: Marked) => metadata?.[FORK];
export const parentIn = ({ metadata }: Marked) => metadata?.[EXTENSIONS.chain]?.parentTaskId;

export function seqOf({ statusUpdate, artifactUpdate }: StreamEvent): number {
  return (statusUpdate ?? artifactUpdate)?.metadata?.[EXTENSIONS.cursor]?.seq ?? 0;
}

export const textOf = (parts: readonly Part[]) => parts.map(({ text = '' }) => text).join('');

const WORDS: Readonly<Record<string, string>> = { 'input-required': 'waits for you', working: 'works' };

/** A state of A2A, or of the author extension, as people say it. */
export function stateWords(state: string): string {
  const word = state.replace('TASK_STATE_', '').toLowerCase().replaceAll('_', '-');
  return WORDS[word] ?? word.replaceAll('-', ' ');
}
export const waits = (state: string) => /(INPUT|AUTH)[_-]REQUIRED/i.test(state);
/** The questions that a task asks a person now. */
export const questionsOf = ({ status: { state, message } }: Pick<Task, 'status'>): readonly Question[] =>
  waits(state) ? questionsIn(message?.parts ?? []) : [];
export const hasEnded = (state: string) => /COMPLETED|FAILED|CANCELED|REJECTED/i.test(state);
