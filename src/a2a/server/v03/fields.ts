import type { FieldViolation } from '../proto-json.js';
import type { OperationName } from '../requests.js';

type Renames = readonly (readonly [RegExp, string])[];

const FILE: Renames = [
  [/^(message\.parts\.\d+)\.mediaType/, '$1.file.mimeType'],
  [/^(message\.parts\.\d+)\.filename/, '$1.file.name'],
];
const ANY: Renames = [
  [/\bauthentication\.scheme\b/, 'authentication.schemes'],
  [/^configuration\.returnImmediately/, 'configuration.blocking'],
];

/** The names of the fields of 1.0 in JSON-RPC, where they differ. */
export const SCHEMA_FIELDS: Renames = [
  ...FILE,
  [/^(message\.parts\.\d+)\.raw/, '$1.file.bytes'],
  [/^(message\.parts\.\d+)\.url/, '$1.file.uri'],
  ...ANY,
  [/^configuration\.taskPushNotificationConfig/, 'configuration.pushNotificationConfig'],
];

/** The same over HTTP+JSON and gRPC. */
export const PROTO_FIELDS: Renames = [
  ...FILE,
  [/^(message\.parts\.\d+)\.raw/, '$1.file.fileWithBytes'],
  [/^(message\.parts\.\d+)\.url/, '$1.file.fileWithUri'],
  [/^message\.parts/, 'message.content'],
  ...ANY,
  [/^configuration\.taskPushNotificationConfig/, 'configuration.pushNotification'],
];

/** The paths of the fields of a push config in the parameters that create it. */
interface FieldPlaces {
  readonly renames: Renames;
  readonly config: string;
  /** The names of the fields that name a push config. */
  readonly configName: Readonly<Record<string, string>>;
  readonly role: string;
}

/** Says in the words of 0.3 what is wrong with a field. */
export function toOldViolation(
  { renames, config, configName, role }: FieldPlaces,
  operation: OperationName,
  { field, description }: FieldViolation,
): FieldViolation {
  const words = description
    .replace('ROLE_USER', role)
    .replace('text, raw, url and data', 'text, file and data');
  const renamed = renames.reduce((name, [from, to]) => name.replace(from, to), field);
  const isConfig = operation === 'CreateTaskPushNotificationConfig' && field !== 'taskId';
  const isNamed = operation.endsWith('PushNotificationConfig') && !isConfig;
  return {
    field: isConfig ? `${config}.${renamed}` : (isNamed && configName[field]) || renamed,
    description: words,
  };
}
