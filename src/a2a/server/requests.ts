import {
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetExtendedAgentCardRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTasksRequest,
  Role,
  SendMessageRequest,
  SubscribeToTaskRequest,
  TaskPushNotificationConfig,
  TaskState,
} from '@a2a-js/sdk';
import type { MessageFns } from '@a2a-js/sdk';
import { z } from 'zod';
import { BASE64 } from '../../core/message.js';
import { MAX_ID_LENGTH } from '../translate/extensions.js';
import { bool, jsonObject, parseAs, protoEnum, protoObject, text, whole } from './proto-json.js';

const MAX_PARTS = 256;
const MAX_LIST = 256;
const MAX_MEDIA_TYPE_LENGTH = 256;
const MAX_FILENAME_LENGTH = 1_024;
const MAX_URL_LENGTH = 8_192;
const MAX_SECRET_LENGTH = 4_096;
const MAX_PAGE_SIZE = 100;
const MAX_PAGE_TOKEN_LENGTH = 1_024;

const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/i;
const CONTENTS = ['text', 'raw', 'url', 'data'] as const;

const id = text(MAX_ID_LENGTH);
const requiredId = id.min(1, 'must not be empty');
const texts = z.array(id, 'must be a list of strings').max(MAX_LIST, `must have at most ${MAX_LIST} items`);
/** None of our interfaces declares a tenant, so a client must leave it out (A2A 1.0 section 3.2.6). */
const tenant = z.string().max(0, 'must be left out: this interface declares no tenant').optional();

const part = protoObject({
  text: z.string('must be a string').optional(),
  raw: z
    .string('must be a base64 string')
    .refine((raw) => BASE64.test(raw) && raw.replace(/=+$/, '').length % 4 !== 1, 'must be base64')
    .optional(),
  url: text(MAX_URL_LENGTH).refine(isWebUrl, 'must be an absolute http or https URL').optional(),
  data: z.unknown().optional(),
  metadata: jsonObject().optional(),
  filename: text(MAX_FILENAME_LENGTH).optional(),
  mediaType: text(MAX_MEDIA_TYPE_LENGTH).optional(),
}).refine(
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
  metadata: jsonObject().optional(),
  extensions: texts.optional(),
  referenceTaskIds: texts.optional(),
});

const authentication = protoObject({
  scheme: text(MAX_SECRET_LENGTH).min(1, 'must not be empty'),
  credentials: text(MAX_SECRET_LENGTH).optional(),
});

const pushTarget = {
  tenant,
  id: id.optional(),
  url: text(MAX_URL_LENGTH).min(1, 'must not be empty'),
  token: text(MAX_SECRET_LENGTH).optional(),
  authentication: authentication.optional(),
};

/** The push config in a message, whose task may not exist yet. */
const ownPush = protoObject({ ...pushTarget, taskId: id.optional() });
const createPush = protoObject({ ...pushTarget, taskId: requiredId });
const onePush = protoObject({ tenant, taskId: requiredId, id: requiredId });
const onlyPush = protoObject({ tenant, taskId: requiredId, id: id.optional() });
const listPush = protoObject({
  tenant,
  taskId: requiredId,
  pageSize: whole(0, MAX_PAGE_SIZE).optional(),
  pageToken: text(MAX_PAGE_TOKEN_LENGTH).optional(),
});

const configuration = protoObject({
  acceptedOutputModes: texts.optional(),
  taskPushNotificationConfig: ownPush.optional(),
  historyLength: whole(0).optional(),
  returnImmediately: bool().optional(),
});

const sendMessage = protoObject({
  tenant,
  message,
  configuration: configuration.optional(),
  metadata: jsonObject().optional(),
});

const oneTask = protoObject({ tenant, id: requiredId });
const getTask = protoObject({ tenant, id: requiredId, historyLength: whole(0).optional() });
const cancelTask = protoObject({ tenant, id: requiredId, metadata: jsonObject().optional() });
const card = protoObject({ tenant });

const listTasks = protoObject({
  tenant,
  contextId: id.optional(),
  status: protoEnum({
    TASK_STATE_UNSPECIFIED: TaskState.TASK_STATE_UNSPECIFIED,
    TASK_STATE_SUBMITTED: TaskState.TASK_STATE_SUBMITTED,
    TASK_STATE_WORKING: TaskState.TASK_STATE_WORKING,
    TASK_STATE_COMPLETED: TaskState.TASK_STATE_COMPLETED,
    TASK_STATE_FAILED: TaskState.TASK_STATE_FAILED,
    TASK_STATE_CANCELED: TaskState.TASK_STATE_CANCELED,
    TASK_STATE_INPUT_REQUIRED: TaskState.TASK_STATE_INPUT_REQUIRED,
    TASK_STATE_REJECTED: TaskState.TASK_STATE_REJECTED,
    TASK_STATE_AUTH_REQUIRED: TaskState.TASK_STATE_AUTH_REQUIRED,
  }).optional(),
  pageSize: whole(1, MAX_PAGE_SIZE).optional(),
  pageToken: text(MAX_PAGE_TOKEN_LENGTH).optional(),
  historyLength: whole(0).optional(),
  statusTimestampAfter: z
    .string('must be a timestamp')
    .refine(
      (time) => RFC_3339.test(time) && !Number.isNaN(Date.parse(time)),
      'must be a timestamp as in RFC 3339',
    )
    .optional(),
  includeArtifacts: bool().optional(),
});

/*
 * Parsers of untrusted parameters into the SDK's types. The SDK's own parsers accept nearly everything, so each of these
 * checks first, and throws `invalid-input` that names the wrong fields.
 */
export const parseSendMessage: Parser<SendMessageRequest> = parser(SendMessageRequest, sendMessage);
export const parseGetTask: Parser<GetTaskRequest> = parser(GetTaskRequest, getTask);
export const parseListTasks: Parser<ListTasksRequest> = parser(ListTasksRequest, listTasks);
export const parseCancelTask: Parser<CancelTaskRequest> = parser(CancelTaskRequest, cancelTask);
export const parseSubscribe: Parser<SubscribeToTaskRequest> = parser(SubscribeToTaskRequest, oneTask);
export const parseExtendedCard: Parser<GetExtendedAgentCardRequest> = parser(
  GetExtendedAgentCardRequest,
  card,
);

export const parseCreatePush: Parser<TaskPushNotificationConfig> = parser(
  TaskPushNotificationConfig,
  createPush,
);
export const parseGetPush: Parser<GetTaskPushNotificationConfigRequest> = parser(
  GetTaskPushNotificationConfigRequest,
  onePush,
);
/** Clients of 0.3 may leave the id out. */
export const parseOldGetPush: Parser<GetTaskPushNotificationConfigRequest> = parser(
  GetTaskPushNotificationConfigRequest,
  onlyPush,
);
export const parseListPush: Parser<ListTaskPushNotificationConfigsRequest> = parser(
  ListTaskPushNotificationConfigsRequest,
  listPush,
);
export const parseDeletePush: Parser<DeleteTaskPushNotificationConfigRequest> = parser(
  DeleteTaskPushNotificationConfigRequest,
  onePush,
);

type Parser<Request> = (raw: unknown) => Request;

function parser<Request>(codec: MessageFns<Request>, schema: z.ZodType): Parser<Request> {
  return (raw) => codec.fromJSON(parseAs(schema, raw));
}

function isWebUrl(value: string): boolean {
  const url = URL.parse(value);
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:') && url.hostname !== '';
}
