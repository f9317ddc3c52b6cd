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
export interface Status {
  readonly state: string;
  readonly timestamp?: string;
  readonly message?: Message;
}
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
export interface UsageRow {
  readonly node: string;
  readonly agent: string;
  readonly model: string;
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly currency: string;
  readonly cost?: number;
}
interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly rows?: readonly UsageRow[];
}
interface Activity {
  readonly type: string;
  readonly text?: string;
  readonly id?: string;
  readonly replace?: boolean;
  readonly tool?: string;
  readonly arguments?: unknown;
  readonly isError?: boolean;
  readonly agent?: string;
  readonly request?: string;
  readonly state?: string;
  readonly reason?: string;
}
interface Metadata {
  readonly 'urn:lango:a2a:author:v1'?: { readonly author: string; readonly activity?: Activity };
  readonly 'urn:lango:a2a:cursor:v1'?: { readonly seq: number };
  readonly 'urn:lango:a2a:usage:v1'?: Usage;
  readonly 'urn:lango:a2a:chain:v1'?: { readonly parentTaskId?: string };
}
export interface Question {
  readonly hash: string;
  readonly kind: string;
  readonly text: string;
  readonly author: string;
  readonly tool?: string;
  readonly arguments?: unknown;
  readonly expiresAt?: number;
}
export interface Answer {
  readonly hash: string;
  readonly decision: 'approve' | 'deny';
  readonly text?: string;
}

interface Marked {
  readonly metadata?: Metadata | undefined;
}
export const authorIn = ({ metadata }: Marked) => metadata?.['urn:lango:a2a:author:v1']?.author ?? '';
export const activityIn = ({ metadata }: Marked) => metadata?.['urn:lango:a2a:author:v1']?.activity;
export const usageIn = ({ metadata }: Marked) => metadata?.['urn:lango:a2a:usage:v1'];
export const parentIn = ({ metadata }: Marked) => metadata?.['urn:lango:a2a:chain:v1']?.parentTaskId;

export function seqOf({ statusUpdate, artifactUpdate }: StreamEvent): number {
  return (statusUpdate ?? artifactUpdate)?.metadata?.['urn:lango:a2a:cursor:v1']?.seq ?? 0;
}

export const textOf = (parts: readonly Part[]) => parts.map(({ text = '' }) => text).join('');

function members(parts: readonly Part[], name: string): readonly unknown[] {
  return parts.flatMap(({ data }) => (data as Record<string, unknown> | null | undefined)?.[name] ?? []);
}
export const questionsIn = (parts: readonly Part[]) => members(parts, 'question') as readonly Question[];
export const answersIn = (parts: readonly Part[]) => members(parts, 'answer') as readonly Answer[];

const WORDS: Readonly<Record<string, string>> = { 'input-required': 'waits for you', working: 'works' };

/** A state of A2A, or of the author extension, as people say it. */
export function stateWords(state: string): string {
  const word = state.replace('TASK_STATE_', '').toLowerCase().replaceAll('_', '-');
  return WORDS[word] ?? word.replaceAll('-', ' ');
}
export const waits = (state: string) => /INPUT_REQUIRED|AUTH_REQUIRED/.test(state);
export const hasEnded = (state: string) => /COMPLETED|FAILED|CANCELED|REJECTED/.test(state);
