import { z } from 'zod';
import { LangoError } from '../core/errors.js';
import type { Connection } from './connection.js';
import { explain } from './explain.js';

export interface ServerRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** Bytes go as they are, anything else as JSON. */
  readonly body?: unknown;
}

const errorSchema = z.object({ error: z.object({ message: z.string() }) });

/** Asks one of the server's own routes for JSON. What goes wrong is explained. */
export async function requestJson(connection: Connection, asked: ServerRequest): Promise<unknown> {
  try {
    const response = await connection.fetch(new URL(asked.path, connection.url), {
      method: asked.method,
      ...contentOf(asked.body),
    });
    const answer: unknown = await response.json().catch(() => undefined);
    if (!response.ok) throw refusal(response.status, errorSchema.safeParse(answer).data?.error.message);
    return answer;
  } catch (error) {
    throw await explain(error, connection);
  }
}

function contentOf(body: unknown): RequestInit {
  if (body === undefined) return {};
  if (body instanceof Uint8Array) {
    return { body: new Uint8Array(body), headers: { 'content-type': 'application/octet-stream' } };
  }
  return { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
}

function refusal(status: number, message = `The server answered with status ${status}.`): LangoError {
  if (status === 401) return new LangoError('unauthenticated', message);
  if (status === 404) return new LangoError('not-found', message);
  if (status === 409) return new LangoError('conflict', message);
  if (status === 500) return new LangoError('internal', message);
  if (status === 501) return new LangoError('not-supported', message);
  return new LangoError(status < 500 ? 'invalid-input' : 'unavailable', message);
}
