import {
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetExtendedAgentCardRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTasksRequest,
  Role,
  SendMessageConfiguration,
  SendMessageRequest,
  SubscribeToTaskRequest,
  TaskPushNotificationConfig,
  TaskState,
  type MessageFns,
} from '@a2a-js/sdk';
import { z } from 'zod';
import { BASE64 } from '../../core/message.js';
import { isJsonObject, type JsonObject } from '../../core/json.js';
import type { Call } from '../translate/call.js';
import { MAX_ID_LENGTH } from '../translate/extensions.js';
import { bool, protoEnum, protoObject, text, whole } from './proto-json.js';

const MAX_PARTS = 256;
const MAX_LIST = 256;
const MAX_MEDIA_TYPE_LENGTH = 256;
const MAX_FILENAME_LENGTH = 1_024;
const MAX_URL_LENGTH = 8_192;
const MAX_WEBHOOK_LENGTH = 2_048;
const MAX_CONFIG_ID_LENGTH = 128;
const MAX_SECRET_LENGTH = 4_096;
const MAX_PAGE_SIZE = 100;
const MAX_PAGE_TOKEN_LENGTH = 1_024;

const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/i;
/** Values that a header may have (RFC 9110 section 5.5), and names of authentication schemes (section 11.1). */
const HEADER_TEXT = /^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/;
const SCHEME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/;
const CONTENTS = ['text', 'raw', 'url', 'data'] as const;

const id = text(MAX_ID_LENGTH);
const requiredId = id.min(1, 'must not be empty');
const count = whole(0).optional();
const pageToken = text(MAX_PAGE_TOKEN_LENGTH).optional();
const metadata = z.custom<JsonObject>(isJsonObject, 'must be a JSON object').optional();
const texts = z.array(id, 'must be a list of strings').max(MAX_LIST, `must have at most ${MAX_LIST} items`);
/** None of our interfaces declares a tenant, so a client must leave it out (A2A 1.0 section 3.2.6). */
const tenant = z.string().max(0, 'must be left out: this interface declares no tenant').optional();

const partShape = {
  text: z.string('must be a string').optional(),
  raw: z
    .string('must be a base64 string')
    .refine((raw) => BASE64.test(raw) && raw.replace(/=+$/, '').length % 4 !== 1, 'must be base64')
    .optional(),
  url: text(MAX_URL_LENGTH).refine(isWebUrl, 'must be an absolute http or https URL').optional(),
  data: z.unknown().optional(),
  metadata,
  filename: text(MAX_FILENAME_LENGTH).optional(),
  mediaType: text(MAX_MEDIA_TYPE_LENGTH).optional(),
};

const part = protoObject(partShape, 'data').refine(
  (value) => CONTENTS.filter((name) => value[name] !== undefined).length === 1,
  'must have exactly one of text, raw, url and data',
);

const message = protoObject({
  messageId: requiredId,
  contextId: id.optional(),
  taskId: id.optional(),
  role: protoEnum({ ROLE_USER: Role.ROLE_USER }),
  parts: z
    .array(part, 'must be a list of parts')
    .min(1, 'must have at least one part')
    .max(MAX_PARTS, `must have at most ${MAX_PARTS} parts`),
  metadata,
  extensions: texts.optional(),
  referenceTaskIds: texts.optional(),
});

const webhook = {
  tenant,
  id: headerText(MAX_CONFIG_ID_LENGTH).optional(),
  url: text(MAX_WEBHOOK_LENGTH).refine((url) => URL.canParse(url), 'must be an absolute URL'),
  token: headerText(MAX_SECRET_LENGTH).optional(),
  authentication: protoObject({
    scheme: z.string('must be a string').regex(SCHEME, 'must be the name of an HTTP scheme'),
    credentials: headerText(MAX_SECRET_LENGTH).optional(),
  }).optional(),
};

/** A push config as such: the address, the id, and what the receiver gets in headers. */
export const pushConfig = protoObject(webhook);
/** The push config in a message, whose task may not exist yet. */
const pushOfMessage = protoObject({ ...webhook, taskId: id.optional() });
const pushOfTask = protoObject({ ...webhook, taskId: requiredId });
/** Names one push config of a task. */
const pushName = protoObject({ tenant, taskId: requiredId, id: requiredId });
/** Names the first push config of a task when the id is left out, as A2A 0.3 allows. */
const oldPushName = protoObject({ tenant, taskId: requiredId, id: id.optional() });
const listPush = protoObject({
  tenant,
  taskId: requiredId,
  pageSize: whole(0, MAX_PAGE_SIZE).optional(),
  pageToken,
});

const configuration = protoObject({
  acceptedOutputModes: texts.optional(),
  taskPushNotificationConfig: pushOfMessage.optional(),
  historyLength: count,
  returnImmediately: bool().optional(),
  ifGenerationMatch: count,
});

const sendMessage = protoObject({ tenant, message, configuration: configuration.optional(), metadata });

const taskName = protoObject({ tenant, id: requiredId });
const getTask = protoObject({ tenant, id: requiredId, historyLength: count, currentGeneration: count });
const cancelTask = protoObject({ tenant, id: requiredId, metadata });
const nothing = protoObject({ tenant });

const { UNRECOGNIZED: _, ...STATES } = Object.fromEntries(
  Object.entries(TaskState).filter(([, number]) => typeof number === 'number'),
) as Record<string, number>;

const listTasks = protoObject({
  tenant,
  contextId: id.optional(),
  status: protoEnum(STATES).optional(),
  pageSize: whole(1, MAX_PAGE_SIZE).optional(),
  pageToken,
  historyLength: count,
  statusTimestampAfter: z
    .string('must be a timestamp')
    .refine(
      (time) => RFC_3339.test(time) && Number.isFinite(Date.parse(time)),
      'must be a timestamp as in RFC 3339',
    )
    .optional(),
  includeArtifacts: bool().optional(),
});

export interface Params {
  readonly SendMessage: SendMessageRequest;
  readonly SendStreamingMessage: SendMessageRequest;
  readonly GetTask: GetTaskRequest;
  readonly ListTasks: ListTasksRequest;
  readonly CancelTask: CancelTaskRequest;
  readonly SubscribeToTask: SubscribeToTaskRequest;
  readonly GetExtendedAgentCard: GetExtendedAgentCardRequest;
  readonly CreateTaskPushNotificationConfig: TaskPushNotificationConfig;
  readonly GetTaskPushNotificationConfig: GetTaskPushNotificationConfigRequest;
  readonly ListTaskPushNotificationConfigs: ListTaskPushNotificationConfigsRequest;
  readonly DeleteTaskPushNotificationConfig: DeleteTaskPushNotificationConfigRequest;
}

export type OperationName = keyof Params;

const SEND_MESSAGE: MessageFns<SendMessageRequest> = {
  ...SendMessageRequest,
  /** The codec loses `data: null`. The schema has checked that each part has a content. */
  fromJSON(json) {
    const request = SendMessageRequest.fromJSON(json);
    for (const one of request.message?.parts ?? []) one.content ??= { $case: 'data', value: null };
    const { ifGenerationMatch } = (json as { configuration?: OfDraft }).configuration ?? {};
    if (request.configuration) Object.assign(request.configuration, { ifGenerationMatch });
    return request;
  },
};

const GET_TASK: MessageFns<GetTaskRequest> = {
  ...GetTaskRequest,
  fromJSON(json) {
    const { currentGeneration } = json as OfDraft;
    return { ...GetTaskRequest.fromJSON(json), currentGeneration } as GetTaskRequest;
  },
};

/** Parameters of the draft of A2A 1.1, which the codec does not know. */
export interface OfDraft {
  readonly currentGeneration?: number;
  readonly ifGenerationMatch?: number;
}

/**
 * The request of each operation: the SDK's codec, and the schema of what clients may send. The codec's own parser accepts
 * nearly everything, so the schema is checked first. `oldSchema` is for clients of A2A 0.3, where that differs.
 */
export const REQUESTS: { readonly [Name in OperationName]: RequestRow<Params[Name]> } = {
  SendMessage: { codec: SEND_MESSAGE, schema: sendMessage, isUsual: isUsualMessage },
  SendStreamingMessage: { codec: SEND_MESSAGE, schema: sendMessage, isUsual: isUsualMessage },
  GetTask: { codec: GET_TASK, schema: getTask },
  ListTasks: { codec: ListTasksRequest, schema: listTasks },
  CancelTask: { codec: CancelTaskRequest, schema: cancelTask },
  SubscribeToTask: { codec: SubscribeToTaskRequest, schema: taskName },
  GetExtendedAgentCard: { codec: GetExtendedAgentCardRequest, schema: nothing },
  CreateTaskPushNotificationConfig: { codec: TaskPushNotificationConfig, schema: pushOfTask },
  GetTaskPushNotificationConfig: {
    codec: GetTaskPushNotificationConfigRequest,
    schema: pushName,
    oldSchema: oldPushName,
  },
  ListTaskPushNotificationConfigs: { codec: ListTaskPushNotificationConfigsRequest, schema: listPush },
  DeleteTaskPushNotificationConfig: { codec: DeleteTaskPushNotificationConfigRequest, schema: pushName },
};

interface RequestRow<Sent> {
  readonly codec: MessageFns<Sent>;
  readonly schema: z.ZodType;
  readonly oldSchema?: z.ZodType;
  /** Whether the schemas accept the parameters, and change nothing that the codec reads. May be false for others too. */
  readonly isUsual?: (params: unknown) => boolean;
}

/** Whether the parameters are a message of texts and ids alone. The schema takes much longer to say so. */
function isUsualMessage(params: unknown): boolean {
  const { message } = onlyOf(params, ['message']);
  const { messageId, role, parts, ...ids } = onlyOf(message, MESSAGE_MEMBERS);
  return (
    messageId !== '' &&
    role === 'ROLE_USER' &&
    [messageId, ...Object.values(ids)].every(
      (one) => typeof one === 'string' && one.length <= MAX_ID_LENGTH,
    ) &&
    Array.isArray(parts) &&
    parts.length > 0 &&
    parts.length <= MAX_PARTS &&
    parts.every((one) => typeof onlyOf(one, ['text'])['text'] === 'string')
  );
}

const MESSAGE_MEMBERS = ['messageId', 'role', 'parts', 'contextId', 'taskId'];

/** Returns the value if it is an object with no other members than these; otherwise an empty object. */
function onlyOf(value: unknown, names: readonly string[]): Readonly<Record<string, unknown>> {
  return isJsonObject(value) && Object.keys(value).every((name) => names.includes(name)) ? value : {};
}

function headerText(maxLength: number) {
  return text(maxLength).regex(HEADER_TEXT, 'must be printable ASCII without a space at its ends');
}

function isWebUrl(value: string): boolean {
  const url = URL.parse(value);
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:') && url.hostname !== '';
}

/** Returns what an executor gets of a request besides the message. The push config is left out, since it holds secrets. */
export function requestForExecutor({ configuration, metadata }: SendMessageRequest, { extensions }: Call) {
  const sent = configuration && { ...configuration, taskPushNotificationConfig: undefined };
  return {
    ...(metadata ? { metadata } : {}),
    ...(sent ? { configuration: SendMessageConfiguration.toJSON(sent) as JsonObject } : {}),
    ...(extensions && extensions.size > 0 ? { extensions: [...extensions] } : {}),
  };
}
