import { Role, TaskState } from '@a2a-js/sdk';
import { isJsonObject, mapMembers, objectIn, objectsIn, textIn } from '../../core/json.js';
import type { Json, JsonObject } from '../../core/json.js';

/*
 * Translates the messages of A2A 0.3's proto between their JSON, which the dialect uses, and the objects of the SDK's
 * generated codec, in which a oneof is `{ $case, value }`, an enum is a number, and no list is absent.
 */

/** Members with free JSON of the user, which is not translated. */
const OPAQUE: readonly string[] = ['metadata', 'data'];

/** Turns a decoded message into proto JSON. */
export function fromDecoded(message: object): JsonObject {
  const json: Record<string, Json | undefined> = {};
  for (const [name, value] of Object.entries(message) as [string, unknown][]) {
    if (isChoice(value)) json[value.$case] = plain(value.$case, value.value);
    else json[name] = typeof value === 'number' ? enumName(name, value) : plain(name, value);
  }
  return json;
}

/** The name of a value of an enum; the number itself for other members. */
function enumName(name: string, value: number): Json | undefined {
  if (name === 'role') return Role[value];
  return name === 'state' ? TaskState[value]?.replace('CANCELED', 'CANCELLED') : value;
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

type Convert = (json: Json | undefined) => unknown;

/** Converts a message: absent members get `defaults`, and each of `members` is converted by its own function. */
function messageOf(defaults: object, members: Readonly<Record<string, Convert>> = {}) {
  return (json: Json | undefined): object => {
    const given = objectIn(json);
    return { ...defaults, ...given, ...mapMembers(members, (convert, name) => convert(given[name])) };
  };
}

const listOf =
  (convert: (item: JsonObject) => unknown): Convert =>
  (json) =>
    objectsIn(json).map(convert);

const optional =
  (convert: Convert): Convert =>
  (json) =>
    isJsonObject(json) ? convert(json) : undefined;

function mapOf(convert: (value: JsonObject) => unknown): Convert {
  return (json) => mapMembers(objectIn(json), (value) => convert(objectIn(value)));
}

/** The number of a name in an enum. Those of 0.3 have the numbers of 1.0. */
const numberIn = (numbers: Readonly<Record<string, unknown>>, name: Json | undefined): unknown =>
  numbers[textIn(name)] ?? 0;

export const toMessage = messageOf(
  { contextId: '', taskId: '', extensions: [] },
  { role: (name) => numberIn(Role, name), content: listOf(toPart) },
);
const toArtifact = messageOf({ name: '', description: '', extensions: [] }, { parts: listOf(toPart) });
export const toTask = messageOf(
  {},
  { status: toStatus, artifacts: listOf(toArtifact), history: listOf(toMessage) },
);
const toStatusUpdate = messageOf({}, { status: toStatus });
const toArtifactUpdate = messageOf({ append: false, lastChunk: false }, { artifact: toArtifact });

/** A task, message or event as a oneof: the JSON holds it under the name of its kind. */
export function toChoice({ task, message, statusUpdate, artifactUpdate }: JsonObject): object {
  if (isJsonObject(task)) return choice('task', toTask(task));
  if (isJsonObject(message)) return choice('msg', toMessage(message));
  if (isJsonObject(statusUpdate)) return choice('statusUpdate', toStatusUpdate(statusUpdate));
  return choice('artifactUpdate', toArtifactUpdate(artifactUpdate));
}

function choice(name: string, value: object): object {
  return { payload: { $case: name, value } };
}

function toStatus(status: Json | undefined): object {
  const { state, message, timestamp } = objectIn(status);
  return {
    state: numberIn(TaskState, textIn(state).replace('CANCELLED', 'CANCELED')),
    update: optional(toMessage)(message),
    timestamp,
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

const toAuthentication = messageOf({ schemes: [], credentials: '' });
export const toConfig = messageOf(
  { name: '' },
  {
    pushNotificationConfig: messageOf(
      { id: '', url: '', token: '' },
      { authentication: optional(toAuthentication) },
    ),
  },
);
export const toConfigs = messageOf({ nextPageToken: '' }, { configs: listOf(toConfig) });

const toRequirement = messageOf({}, { schemes: mapOf(messageOf({ list: [] })) });
const toSkill = messageOf(
  { tags: [], examples: [], inputModes: [], outputModes: [] },
  { security: listOf(toRequirement) },
);
export const toCard = messageOf(
  {
    preferredTransport: '',
    documentationUrl: '',
    supportsAuthenticatedExtendedCard: false,
    signatures: [],
    additionalInterfaces: [],
  },
  {
    capabilities: messageOf({ streaming: false, pushNotifications: false, extensions: [] }),
    securitySchemes: mapOf(toScheme),
    security: listOf(toRequirement),
    skills: listOf(toSkill),
  },
);

function toScheme(scheme: JsonObject): object {
  const [kind = '', value] = Object.entries(scheme)[0] ?? [];
  const { flows, ...rest } = objectIn(value);
  const [flow, details] = Object.entries(objectIn(flows))[0] ?? [];
  const texts = { description: '', bearerFormat: '', oauth2MetadataUrl: '', ...rest };
  if (flow === undefined) return { scheme: { $case: kind, value: texts } };
  const known = { refreshUrl: '', scopes: {}, ...objectIn(details) };
  return { scheme: { $case: kind, value: { ...texts, flows: { flow: { $case: flow, value: known } } } } };
}
