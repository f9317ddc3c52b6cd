import type { Json, JsonObject } from '../../core/json.js';
import type { WireError } from '../translate/errors.js';
import type { OperationName } from './operations.js';
import type { ProtocolVersion } from './service-parameters.js';

export interface RestRoute {
  /** Of the path below the agent's; named groups are parameters. */
  readonly path: RegExp;
  readonly methods: Readonly<Partial<Record<string, OperationName>>>;
}

export type RestError = Pick<
  WireError,
  'jsonRpcCode' | 'httpStatus' | 'status' | 'message' | 'details' | 'retryAfterSeconds' | 'headers'
>;

/** How one version of the protocol writes the HTTP+JSON binding. */
export interface RestDialect {
  readonly version: ProtocolVersion;
  /** The media type of its answers. */
  readonly type: string;
  readonly routes: readonly RestRoute[];
  /** The parameters of 1.0. */
  params(operation: OperationName, params: JsonObject): JsonObject;
  result(operation: OperationName, json: Json): Json;
  event(operation: OperationName, json: JsonObject): JsonObject;
  error(error: RestError): JsonObject;
}
