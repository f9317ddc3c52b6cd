import type { Random } from './random.js';

/** The attacked server. */
export interface Target {
  readonly origin: string;
  readonly port: number;
  readonly grpcPort: number;
  readonly token: string;
  readonly agents: readonly string[];
  /** The agent that is served at the root of the host. */
  readonly root: string;
  /** A task of the root agent that has ended. */
  readonly taskId: string;
  /** An agent that always asks, and a task of it that accepts any message. */
  readonly asking: { readonly agent: string; readonly taskId: string };
  readonly owners: Owners;
}

/** A server with two owners, and a task of the first. */
export interface Owners {
  readonly origin: string;
  /** Their tokens. */
  readonly first: string;
  readonly second: string;
  /** Signs a token of the issuer with these claims, which may be wrong. */
  readonly sign: (claims: object) => Promise<string>;
  /** Text in the task of the first. */
  readonly mark: string;
  readonly taskId: string;
  readonly contextId: string;
}

/** The outcome of a request. */
export interface Outcome {
  /**
   * A number for HTTP, a name for gRPC; `cut` when the connection was closed without a status, `silent` when nothing
   * arrived.
   */
  readonly status: number | string;
  /** The response as text; that of gRPC as JSON. */
  readonly text: string;
  /** The request as JSON, if the server could read it as JSON. */
  readonly sent: string;
  /** Everything that was sent, as readable text. */
  readonly request: string;
  /** The finding of the attack itself. */
  readonly finding?: string;
  /** Whether another server was used. Its tasks are not compared with storage. */
  readonly isElsewhere?: boolean;
  /** Whether the response may be slow, because it waits for a limit or a parser. */
  readonly mayBeSlow?: boolean;
}

/** One kind of attack. */
export type Attack = (random: Random, target: Target) => Promise<Outcome>;

/** Milliseconds after which a request without a response is a finding. */
export const PATIENCE_MS = 10_000;

const SHOWN_CHARACTERS = 300;

/** Shortens the parts of a request for a finding. */
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
