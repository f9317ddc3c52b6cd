import { isJsonObject, type Json, type JsonObject } from '../../../core/json.js';

/** Members whose content is the client's own. */
const FREE: readonly string[] = ['metadata', 'data'];

/** Gives members their names of ProtoJSON. A client may write those of the proto instead: `request`, `message_id`. */
export function fromProtoNames(json: Json): Json {
  if (Array.isArray(json)) return (json as readonly Json[]).map(fromProtoNames);
  if (!isJsonObject(json)) return json;
  const members = Object.entries(json) as readonly (readonly [string, Json])[];
  return Object.fromEntries(
    members.map(([name, value]) => [
      name === 'request' ? 'message' : name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      FREE.includes(name) ? value : fromProtoNames(value),
    ]),
  );
}

/** The names that the SDKs of 0.3 give to the errors of JSON-RPC, and know them by over the other transports. */
export const OLD_ERRORS: Readonly<Record<number, string>> = {
  [-32700]: 'JSONParseError',
  [-32600]: 'InvalidRequestError',
  [-32601]: 'MethodNotFoundError',
  [-32602]: 'InvalidParamsError',
  [-32603]: 'InternalError',
  [-32001]: 'TaskNotFoundError',
  [-32002]: 'TaskNotCancelableError',
  [-32003]: 'PushNotificationNotSupportedError',
  [-32004]: 'UnsupportedOperationError',
  [-32005]: 'ContentTypeNotSupportedError',
  [-32006]: 'InvalidAgentResponseError',
  [-32007]: 'AuthenticatedExtendedCardNotConfiguredError',
};

/** Translates a push config of 0.3, which has a list of schemes where 1.0 has one. */
export function fromPushConfig(config: Json | undefined): JsonObject {
  if (!isJsonObject(config)) return {};
  const { id, url, token, authentication } = config;
  if (!isJsonObject(authentication)) return { id, url, token };
  const { schemes = [], credentials = '' } = authentication;
  // In 0.3 the list of schemes may be empty, and proto JSON leaves it out then.
  if (Array.isArray(schemes) && schemes.length === 0 && credentials === '') return { id, url, token };
  const scheme = Array.isArray(schemes) ? (schemes as readonly Json[])[0] : undefined;
  return { id, url, token, authentication: { scheme, credentials: authentication['credentials'] } };
}

export function toPushConfig({ id, url, token, authentication }: JsonObject): JsonObject {
  if (!isJsonObject(authentication)) return { id, url, token };
  const { scheme, credentials } = authentication;
  return { id, url, token, authentication: { schemes: scheme === undefined ? [] : [scheme], credentials } };
}

/**
 * Gives a task without artifacts the text of its state as one. LangChain4j, whose client is that of Java's library, reads
 * nothing else of a task: a refusal or a question would be an empty answer.
 */
export function withTextAsArtifact(result: Json): Json {
  if (!isJsonObject(result) || result['kind'] !== 'task') return result;
  const { artifacts = [], status } = result;
  const message = isJsonObject(status) ? status['message'] : undefined;
  if (!isJsonObject(message) || (artifacts as readonly Json[]).length > 0) return result;
  const artifact = { artifactId: 'status', name: 'status', parts: message['parts'] };
  return { ...result, artifacts: [artifact] };
}
