import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import { LangoError, errorText, isLangoError } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import { httpErrorBody, sendError, sendJson } from './errors.js';

export type PlainApp = (request: IncomingMessage, response: ServerResponse) => void;

/** The express app for everything that no route claims: "not found", and the error handler at the end. */
export async function createPlainApp(logger: Logger): Promise<PlainApp> {
  // Loaded on first use: no client that knows its way needs it, and a start without it is faster.
  const { default: express } = await import('express');
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use((request) => {
    throw new LangoError('not-found', `There is nothing at ${request.method} ${request.path}.`);
  });
  // Express knows an error handler by its four parameters.
  // eslint-disable-next-line max-params
  app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    if (isClientError(error) && !response.headersSent) {
      sendJson(response, 400, httpErrorBody(400, 'INVALID_ARGUMENT', 'The request is malformed.'));
      return;
    }
    if (!isLangoError(error)) logger.error('request failed', { error: errorText(error) });
    sendError(response, error);
  });
  return app;
}

/** What express itself throws at a bad request (a path that is not percent-encoding, say). */
function isClientError(error: unknown): boolean {
  return error instanceof Error && 'status' in error && error.status === 400;
}
