import type { Random } from './random.js';

/** The server that is asked for trouble. */
export interface Target {
  readonly origin: string;
  readonly port: number;
  readonly grpcPort: number;
  readonly token: string;
  readonly agents: readonly string[];
  /** The one that answers at the root of the host. */
  readonly root: string;
  /** A task of the root agent that has ended. */
  readonly taskId: string;
  /** An agent that always asks, and a task of it that takes any message. */
  readonly asking: { readonly agent: string; readonly taskId: string };
  readonly owners: Owners;
}

/** A server of two owners, and a task of the first. */
export interface Owners {
  readonly origin: string;
  /** Their tokens. */
  readonly first: string;
  readonly second: string;
  /** Stands in the task of the first. */
  readonly mark: string;
  readonly taskId: string;
  readonly contextId: string;
}

/** What came of a shot. */
export interface Outcome {
  /** Of HTTP a number, of gRPC a name; `cut` when the connection was closed without one, `silent` when nothing came at all. */
  readonly status: number | string;
  /** The answer, where it can be read as text: that of gRPC as JSON. */
  readonly text: string;
  /** What was asked for, as JSON, as far as the server could read it so. */
  readonly sent: string;
  /** All that went out, for a person to read. */
  readonly request: string;
  /** What the attack itself found wrong. */
  readonly finding?: string;
  /** Whether another server was asked: what it says of tasks is not held against what is stored. */
  readonly isElsewhere?: boolean;
  /** Whether its answer takes its time: it waits for a limit, or for a parser. */
  readonly mayBeSlow?: boolean;
}

/** One way of asking for trouble. */
export type Attack = (random: Random, target: Target) => Promise<Outcome>;

/** A shot that has no answer by then is a finding. */
export const PATIENCE_MS = 10_000;

const SHOWN_CHARACTERS = 300;

/** The pieces of a request as a finding shows them: shortened. */
export function shown(...pieces: readonly (string | Buffer | object)[]): string {
  return pieces.map(shownPiece).join(' ');
}

function shownPiece(piece: string | Buffer | object): string {
  const plain = Buffer.isBuffer(piece) ? piece.toString('latin1') : piece;
  const text = typeof piece === 'string' ? piece : JSON.stringify(plain);
  return text.length <= SHOWN_CHARACTERS
    ? text
    : `${text.slice(0, SHOWN_CHARACTERS)}… (${text.length} characters)`;
}
