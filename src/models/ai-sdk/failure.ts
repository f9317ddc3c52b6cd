import { types } from 'node:util';
import type { APICallError } from '@ai-sdk/provider';
import { causesOf as causes, codeOf, isLangoError } from '../../core/errors.js';
import { defined, isJsonObject, objectIn, parseJson, textIn, type JsonObject } from '../../core/json.js';
import type { ModelErrorCode, RefusalReason } from '../../core/model.js';
import {
  badAnswer,
  connectionFailure,
  inStreamFailure,
  ModelFailure,
  responseFailure,
  vendorFailure,
  type Endpoint,
} from '../failure.js';
import { reasonIn } from '../reason.js';

const { isNativeError } = types;

type ApiError = Pick<APICallError, 'statusCode' | 'responseHeaders' | 'responseBody' | 'isRetryable'>;

/** The meanings of the names that errors of the AI SDK have. */
const NAMED: readonly (readonly [RegExp, ModelErrorCode, says: string, about?: RefusalReason])[] = [
  [/^LoadAPIKey$/, 'rejected', ' needs a key. ', 'key'],
  [/^NoSuchModel$/, 'rejected', ': ', 'model-name'],
  [/^(LoadSetting|UnsupportedF.*|Invalid(Argument|Prompt))$/, 'rejected', ' cannot be asked like this: '],
  [/^(InvalidResponseData|Empty.*|NoContent.*)$/, 'bad-answer', ' gave a response that cannot be read: '],
];

/** Reads an error that a package of the AI SDK threw, or put into a stream. Packages bring classes of their own, so names tell. */
export function toModelFailure(error: unknown, endpoint: Endpoint): ModelFailure {
  const { name = '', message = '', data } = objectIn(error) as Partial<Error> & { readonly data?: unknown };
  if (name === 'AI_APICallError') return callFailure(error as Error & ApiError, endpoint);
  if (name === 'AI_TypeValidationError' || name === 'AI_JSONParseError')
    return unreadable(objectIn(error), endpoint);
  // Packages report a stream that ended without its last event in these words.
  if (name === 'AI_InvalidResponseDataError' && data === undefined)
    return connectionFailure(undefined, endpoint);
  const text = reasonIn(String(message), endpoint.apiKey);
  const [, own = ''] = /^AI_(.*)Error$/.exec(name) ?? [];
  const [, code, says, about] = NAMED.find(([names]) => names.test(own)) ?? [];
  if (code) return new ModelFailure(code, `${endpoint.place}${says}${text}`, defined({ about }));
  return isNativeError(error) ? otherFailure(error, endpoint) : streamFailure(error, endpoint);
}

/** The failure of a response that is no success, or of a connection. */
function callFailure(error: Error & ApiError, endpoint: Endpoint): ModelFailure {
  const { statusCode: status, responseHeaders = {}, responseBody = '', isRetryable } = error;
  if (status === undefined) return connectionFailure(error.cause ?? error, endpoint);
  // An error while a package reads a successful response has the status of that response.
  if (status >= 200 && status < 300) {
    if (error.cause !== undefined) return toModelFailure(error.cause, endpoint);
    return badAnswer(`${endpoint.place} gave a response that cannot be read.`);
  }
  // Says more than the status only where the package knows its vendor better.
  const isUsual = isRetryable === (status === 408 || status === 409 || status === 429 || status >= 500);
  const response = {
    status,
    headers: new Headers(responseHeaders),
    shouldRetry: isUsual ? undefined : isRetryable,
  };
  return responseFailure(response, responseBody, endpoint);
}

/** The members of events that hold a part of an answer. */
const CONTENT = ['choices', 'candidates', 'delta', 'message', 'content', 'output', 'error'];

/** Whether an error of a package tells of an event that belongs to no answer, such as a ping of a proxy. */
export function isForeignEvent(error: unknown): boolean {
  const { name, value } = objectIn(error);
  if (name !== 'AI_TypeValidationError' || !isJsonObject(value)) return false;
  return value.object !== 'error' && !CONTENT.some((member) => member in value);
}

/** An event that is not in the form that the package expects: often an error of the vendor. */
function unreadable({ value, text }: JsonObject, endpoint: Endpoint): ModelFailure {
  const event = value ?? parseJson(textIn(text));
  if (isJsonObject(event) && (event.error !== undefined || event.object === 'error'))
    return inStreamFailure(event, endpoint);
  const what = 'sent an event that is not in the form of its API. Check model.package and model.baseUrl.';
  return badAnswer(`${endpoint.place} ${what}`);
}

/** An error object in a stream: the vendor's own, or one that the package made of it. */
function streamFailure(error: unknown, endpoint: Endpoint): ModelFailure {
  const { message, type, code, statusCode, isRetryable } = objectIn(error);
  if (message === undefined) return inStreamFailure(error, endpoint);
  const body = { message, type, code: statusCode ?? code };
  const shouldRetry = typeof isRetryable === 'boolean' ? isRetryable : undefined;
  return vendorFailure({ status: undefined, body, shouldRetry }, endpoint);
}

/** A package that cannot be used, a failed connection, a refusal of the egress, or a defect of the package. */
function otherFailure(error: Error, endpoint: Endpoint): ModelFailure {
  if (isLangoError(error, 'invalid-config'))
    return new ModelFailure('rejected', [error.message, error.hint].filter(Boolean).join(' '));
  const isConnection = causes(error).some((cause) => isLangoError(cause) || isSystemError(cause));
  if (isConnection || /fetch failed|terminated|network|socket|incomplete/i.test(error.message))
    return connectionFailure(error, endpoint);
  return badAnswer(`${endpoint.place} failed: ${reasonIn(error.message, endpoint.apiKey)}`);
}

const isSystemError = (error: unknown): boolean => /^(E[A-Z]+|ERR_STREAM|UND_ERR)/.test(codeOf(error) ?? '');
