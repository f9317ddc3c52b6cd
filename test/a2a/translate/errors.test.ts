import { describe, expect, it } from '@jest/globals';
import { fromJsonRpcErrorResponse, fromRestErrorBody } from '@a2a-js/sdk/errors';
import { fromWireError, toWireError } from '../../../src/a2a/translate/errors.js';
import type { ErrorCode } from '../../../src/core/errors.js';
import { LangoError } from '../../../src/core/errors.js';

/** A2A 1.0 section 5.4 as of 1.0.1. */
const SPECIFIED: readonly (readonly [ErrorCode, number, number, string, string])[] = [
  ['not-found', -32001, 404, 'NOT_FOUND', 'TASK_NOT_FOUND'],
  ['not-cancelable', -32002, 400, 'FAILED_PRECONDITION', 'TASK_NOT_CANCELABLE'],
  ['push-not-supported', -32003, 400, 'FAILED_PRECONDITION', 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
  ['not-supported', -32004, 400, 'FAILED_PRECONDITION', 'UNSUPPORTED_OPERATION'],
  ['already-ended', -32004, 400, 'FAILED_PRECONDITION', 'UNSUPPORTED_OPERATION'],
  ['content-type-not-supported', -32005, 400, 'INVALID_ARGUMENT', 'CONTENT_TYPE_NOT_SUPPORTED'],
  ['invalid-agent-response', -32006, 500, 'INTERNAL', 'INVALID_AGENT_RESPONSE'],
  ['extended-card-not-configured', -32007, 400, 'FAILED_PRECONDITION', 'EXTENDED_AGENT_CARD_NOT_CONFIGURED'],
  ['extension-required', -32008, 400, 'FAILED_PRECONDITION', 'EXTENSION_SUPPORT_REQUIRED'],
  ['version-not-supported', -32009, 400, 'FAILED_PRECONDITION', 'VERSION_NOT_SUPPORTED'],
  ['invalid-input', -32602, 400, 'INVALID_ARGUMENT', 'INVALID_PARAMS'],
];

const HIDDEN: readonly ErrorCode[] = [
  'internal',
  'storage',
  'model',
  'tool',
  'invalid-config',
  'outcome-unknown',
  'fenced',
];
const OWN: readonly ErrorCode[] = [
  'unauthenticated',
  'forbidden',
  'too-large',
  'too-many',
  'timeout',
  'unavailable',
  'canceled',
];

describe('X5 an error that is translated to the wire', () => {
  it.each(SPECIFIED.map(([code, ...numbers]) => [code, numbers] as const))(
    'has the numbers of the protocol: %s',
    (code, [jsonRpcCode, httpStatus, status, reason]) => {
      const wire = toWireError(new LangoError(code, 'words', { hint: 'a hint' }));
      expect(wire).toMatchObject({ jsonRpcCode, httpStatus, status, message: 'words' });
      expect(wire.details[0]).toMatchObject({
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        reason,
        domain: 'a2a-protocol.org',
        metadata: { code, hint: 'a hint' },
      });
    },
  );

  it.each(HIDDEN)('is reported without its message when its kind is internal: %s', (code) => {
    const told = JSON.stringify(
      toWireError(new LangoError(code, 'a secret', { hint: 'another', cause: new Error('third') })),
    );
    expect(told).toContain(code === 'storage' ? 'cannot read or store its data' : 'Internal error.');
    expect(told).not.toMatch(/secret|another|third/);
  });

  it('is reported without its message when it is a defect', () => {
    for (const defect of [new TypeError('x is undefined'), 'text', undefined]) {
      expect(toWireError(defect)).toMatchObject({
        jsonRpcCode: -32603,
        httpStatus: 500,
        message: 'Internal error.',
      });
    }
  });

  it('names the wrong fields', () => {
    const violations = [{ field: 'message.parts', description: 'must have at least one part' }];
    expect(toWireError(new LangoError('invalid-input', 'x', { violations })).details[1]).toEqual({
      '@type': 'type.googleapis.com/google.rpc.BadRequest',
      fieldViolations: violations,
    });
  });

  it('names the time of a retry when it allows one', () => {
    expect(toWireError(new LangoError('too-many', 'x', { retryAfterMs: 2_500 })).retryAfterSeconds).toBe(3);
    expect(toWireError(new LangoError('unavailable', 'x')).retryAfterSeconds).toBe(1);
    expect(toWireError(new LangoError('not-found', 'x')).retryAfterSeconds).toBeUndefined();
  });
});

describe('X5 an error that a client of the SDK throws', () => {
  const TOLD = [...SPECIFIED.map(([code]) => code), ...OWN, 'conflict', 'limit-reached'] as const;

  it.each(TOLD)('gets its code back over JSON-RPC: %s', (code) => {
    const { jsonRpcCode, details } = toWireError(new LangoError(code, 'words'));
    const error = { code: jsonRpcCode, message: 'words', data: details as Record<string, unknown>[] };
    const thrown = fromJsonRpcErrorResponse({ jsonrpc: '2.0', id: 1, error });
    expect(fromWireError(thrown)).toMatchObject({ code, message: 'words' });
    expect(fromWireError(new Error('in a stream', { cause: thrown })).code).toBe(code);
  });

  it.each(TOLD)('gets its code back over HTTP+JSON: %s', (code) => {
    const { httpStatus, status, details } = toWireError(new LangoError(code, 'words'));
    const body = {
      code: httpStatus,
      status,
      message: 'words',
      details: details as Record<string, unknown>[],
    };
    const found = fromWireError(fromRestErrorBody(body, { statusCode: httpStatus }));
    expect(found.code).toBe(code);
  });

  it('is read by its number alone when the server is not ours', () => {
    const thrown = fromJsonRpcErrorResponse({
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32001, message: 'gone' },
    });
    expect(fromWireError(thrown)).toMatchObject({ code: 'not-found', message: 'gone' });
    const rest = fromRestErrorBody({ message: 'slow down' }, { statusCode: 429 });
    expect(fromWireError(rest)).toMatchObject({ code: 'too-many', retryable: true });
    expect(fromWireError(fromRestErrorBody({ message: 'x' }, { statusCode: 400 })).code).toBe(
      'invalid-input',
    );
    expect(fromWireError(fromRestErrorBody({ message: 'x' }, { statusCode: 500 })).code).toBe('internal');
  });

  it('is "unavailable" after a failed connection', () => {
    expect(fromWireError(new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') }))).toMatchObject({
      code: 'unavailable',
      retryable: true,
    });
  });

  it('stays unchanged when it is one of ours', () => {
    const own = new LangoError('not-found', 'x');
    expect(fromWireError(own)).toBe(own);
  });

  it('never gets a code that we do not have', () => {
    const data = [
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'X', metadata: { code: 'constructor' } },
    ];
    const thrown = fromJsonRpcErrorResponse({
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32099, message: 'x', data },
    });
    expect(fromWireError(thrown).code).toBe('internal');
  });
});
