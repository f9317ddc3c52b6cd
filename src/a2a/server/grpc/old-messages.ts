import type { Json, JsonObject } from '../../../core/json.js';
import { isJsonObject } from '../../../core/json.js';
import { objectOf, objects, textOf } from '../v03/values.js';

/*
 * Translates the messages of A2A 0.3's proto between their JSON, which the dialect uses, and the objects of the SDK's
 * generated codec, in which a oneof is `{ $case, value }`, an enum is a number, and no list is absent.
 */

const STATES = [
  'TASK_STATE_UNSPECIFIED',
  'TASK_STATE_SUBMITTED',
  'TASK_STATE_WORKING',
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELLED',
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_REJECTED',
  'TASK_STATE_AUTH_REQUIRED',
];
const ROLES = ['ROLE_UNSPECIFIED', 'ROLE_USER', 'ROLE_AGENT'];
/** Members with free JSON of the user, which is not translated. */
const OPAQUE: readonly string[] = ['metadata', 'data'];

/** Turns a decoded message into proto JSON. */
export function fromDecoded(message: object): JsonObject {
  const json: Record<string, Json | undefined> = {};
  for (const [name, value] of Object.entries(message) as [string, unknown][]) {
    if (isChoice(value)) json[value.$case] = plain(value.$case, value.value);
    else json[name] = name === 'role' ? ROLES[Number(value)] : plain(name, value);
  }
  return json;
}

function plain(name: string, value: unknown): Json | undefined {
  if (Buffer.isBuffer(value)) return value.toString('base64');
  if (Array.isArray(value)) return value.map((item) => plain(name, item) ?? null);
  if (typeof value !== 'object' || value === null) return value as Json;
  // A data part has an inner `data`; the free JSON of the user begins there.
  if (name === 'data' && 'data' in value) return { data: value.data as Json };
  return OPAQUE.includes(name) ? (value as Json) : fromDecoded(value);
}

function isChoice(value: unknown): value is { readonly $case: string; readonly value: unknown } {
  return typeof value === 'object' && value !== null && '$case' in value && 'value' in value;
}

/** A task, message or event as a oneof: the JSON holds it under the name of its kind. */
export function toChoice(json: JsonObject): object {
  const { task, message, statusUpdate, artifactUpdate } = json;
  if (isJsonObject(task)) return choice('task', toTask(task));
  if (isJsonObject(message)) return choice('msg', toMessage(message));
  if (isJsonObject(statusUpdate)) {
    const { status, ...rest } = statusUpdate;
    return choice('statusUpdate', { ...rest, status: toStatus(objectOf(status)) });
  }
  const { artifact, ...rest } = objectOf(artifactUpdate);
  return choice('artifactUpdate', {
    append: false,
    lastChunk: false,
    ...rest,
    artifact: toArtifact(objectOf(artifact)),
  });
}

function choice(name: string, value: object): object {
  return { payload: { $case: name, value } };
}

export function toTask(task: JsonObject): object {
  const { status, artifacts, history } = task;
  return {
    ...task,
    status: toStatus(objectOf(status)),
    artifacts: objects(artifacts).map(toArtifact),
    history: objects(history).map(toMessage),
  };
}

function toStatus({ state, message, timestamp }: JsonObject): object {
  return {
    state: Math.max(0, STATES.indexOf(textOf(state))),
    update: isJsonObject(message) ? toMessage(message) : undefined,
    timestamp,
  };
}

function toMessage(message: JsonObject): object {
  return {
    contextId: '',
    taskId: '',
    extensions: [],
    ...message,
    role: Math.max(0, ROLES.indexOf(textOf(message['role']))),
    content: objects(message['content']).map(toPart),
  };
}

function toArtifact(artifact: JsonObject): object {
  return {
    name: '',
    description: '',
    extensions: [],
    ...artifact,
    parts: objects(artifact['parts']).map(toPart),
  };
}

function toPart({ text, file, data }: JsonObject): object {
  if (text !== undefined) return { part: { $case: 'text', value: text } };
  if (!isJsonObject(file)) return { part: { $case: 'data', value: data } };
  const { fileWithUri: uri, fileWithBytes: bytes, mimeType = '' } = file;
  const content =
    typeof bytes === 'string'
      ? { $case: 'fileWithBytes', value: Buffer.from(bytes, 'base64') }
      : { $case: 'fileWithUri', value: uri };
  return { part: { $case: 'file', value: { file: content, mimeType } } };
}

export function toConfig({ name, pushNotificationConfig }: JsonObject): object {
  const { authentication, ...rest } = objectOf(pushNotificationConfig);
  return {
    name,
    pushNotificationConfig: {
      id: '',
      url: '',
      token: '',
      ...rest,
      authentication: isJsonObject(authentication)
        ? { schemes: [], credentials: '', ...authentication }
        : undefined,
    },
  };
}

export function toConfigs({ configs }: JsonObject): object {
  return { configs: objects(configs).map(toConfig), nextPageToken: '' };
}

export function toCard(card: JsonObject): object {
  const { capabilities, securitySchemes, security, skills } = card;
  return {
    preferredTransport: '',
    documentationUrl: '',
    supportsAuthenticatedExtendedCard: false,
    signatures: [],
    additionalInterfaces: [],
    ...card,
    capabilities: { streaming: false, pushNotifications: false, extensions: [], ...objectOf(capabilities) },
    securitySchemes: Object.fromEntries(
      Object.entries(objectOf(securitySchemes)).map(([name, scheme]) => [name, toScheme(objectOf(scheme))]),
    ),
    security: objects(security).map(toRequirement),
    skills: objects(skills).map((skill) => ({
      tags: [],
      examples: [],
      inputModes: [],
      outputModes: [],
      ...skill,
      security: objects(skill['security']).map(toRequirement),
    })),
  };
}

function toScheme(scheme: JsonObject): object {
  const [kind = '', value] = Object.entries(scheme)[0] ?? [];
  const { flows, ...rest } = objectOf(value);
  const [flow, details] = Object.entries(objectOf(flows))[0] ?? [];
  const texts = { description: '', bearerFormat: '', oauth2MetadataUrl: '', ...rest };
  if (flow === undefined) return { scheme: { $case: kind, value: texts } };
  const known = { refreshUrl: '', scopes: {}, ...objectOf(details) };
  return { scheme: { $case: kind, value: { ...texts, flows: { flow: { $case: flow, value: known } } } } };
}

function toRequirement({ schemes }: JsonObject): object {
  const lists = Object.entries(objectOf(schemes)).map(([name, scopes]): [string, object] => [
    name,
    { list: [], ...objectOf(scopes) },
  ]);
  return { schemes: Object.fromEntries(lists) };
}
