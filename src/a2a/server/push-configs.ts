import type {
  ListTaskPushNotificationConfigsResponse,
  TaskPushNotificationConfig as WireConfig,
} from '@a2a-js/sdk';
import type { ServerCallContext } from '@a2a-js/sdk/server';
import { LangoError } from '../../core/errors.js';
import { OUR_EXTENSIONS } from '../../core/extensions.js';
import { newId } from '../../core/ids.js';
import type { NewPush, PushConfig, PushTask, PushConfigStore, Sealer } from '../../core/push.js';
import { callOf } from '../translate/call.js';
import { parseAs } from './proto-json.js';
import { pushConfig } from './requests.js';

interface PushConfigsOptions {
  readonly store: PushConfigStore;
  readonly caps: NewPush['caps'];
  readonly sealer: Sealer;
  /** Throws `invalid-input` for an address that this node may not send to. */
  readonly assertTarget: (url: URL) => void;
  /** Called when a task gets a config. */
  readonly wake: (taskId: string) => void;
}

/** The secrets of a config, and the extensions whose metadata its sender asked for. */
export interface SealedPush {
  readonly token?: string;
  readonly credentials?: string;
  readonly extensions?: readonly string[];
}

const DEFAULT_PAGE_SIZE = 50;
const MAX_PAGE_SIZE = 100;

/**
 * The push notification configs of tasks, in the protocol's shapes. Token and credentials are for the receiver alone:
 * they are sealed before they are stored, and no response contains them.
 */
export class PushConfigs {
  readonly #options: PushConfigsOptions;

  constructor(options: PushConfigsOptions) {
    this.#options = options;
  }

  /** Checks a config without storing it. Throws `invalid-input` that names each wrong field. */
  prepare(wire: WireConfig, context: ServerCallContext): NewPush {
    const { assertTarget, sealer, caps } = this.#options;
    // Callers inside the process come without the checks of a binding.
    parseAs(pushConfig, wire);
    const url = new URL(wire.url);
    assertTarget(url);
    const { token, authentication } = wire;
    const { extensions: asked = OUR_EXTENSIONS } = callOf(context);
    const extensions = OUR_EXTENSIONS.filter((uri) => [...asked].includes(uri));
    const sealed: SealedPush = {
      ...(token ? { token } : {}),
      ...(authentication?.credentials ? { credentials: authentication.credentials } : {}),
      ...(extensions.length > 0 ? { extensions } : {}),
    };
    const hasSecrets = sealed.token !== undefined || sealed.credentials !== undefined;
    const text = JSON.stringify(sealed);
    return {
      caps,
      target: {
        id: wire.id || newId(),
        url: url.href,
        scheme: authentication?.scheme || undefined,
        sealed: hasSecrets ? sealer.seal(text) : extensions.length > 0 ? text : undefined,
        version: context.requestedVersion.startsWith('0.') ? '0.3' : '1.0',
      },
    };
  }

  /** Stores a config, in place of the one with the same id. */
  async create(task: PushTask, push: NewPush): Promise<WireConfig> {
    const config = await this.#options.store.save(task, push);
    this.#options.wake(task.taskId);
    return toWireConfig(config);
  }

  /** Call it when a task was accepted with a config in its message. */
  accepted(taskId: string): void {
    this.#options.wake(taskId);
  }

  /** Throws `not-found`. An empty id, which clients of 0.3 may send, means the first config. */
  async get(task: PushTask, id: string): Promise<WireConfig> {
    const { store } = this.#options;
    const config = id === '' ? (await store.list(task, '', 1))[0] : await store.get(task, id);
    if (config) return toWireConfig(config);
    throw new LangoError('not-found', `The task has no push notification config${id && ` ${id}`}.`);
  }

  async list(
    task: PushTask,
    page: { readonly pageSize: number; readonly pageToken: string },
  ): Promise<ListTaskPushNotificationConfigsResponse> {
    const size = Math.min(page.pageSize || DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE);
    const configs = await this.#options.store.list(task, parseToken(page.pageToken), size + 1);
    const shown = configs.slice(0, size);
    return {
      configs: shown.map(toWireConfig),
      nextPageToken: configs.length > size ? Buffer.from(shown.at(-1)!.id).toString('base64url') : '',
    };
  }

  /** Deleting a config that does not exist succeeds. */
  delete(task: PushTask, id: string): Promise<void> {
    return this.#options.store.delete(task, id);
  }
}

/** Leaves out the secrets: only the receiver needs them, and the client that set them has them. */
function toWireConfig(config: PushConfig): WireConfig {
  return {
    tenant: '',
    id: config.id,
    taskId: config.taskId,
    url: config.url,
    token: '',
    authentication: config.scheme === undefined ? undefined : { scheme: config.scheme, credentials: '' },
  };
}

function parseToken(token: string): string {
  const id = Buffer.from(token, 'base64url').toString();
  if (Buffer.from(id).toString('base64url') === token) return id;
  throw new LangoError('invalid-input', 'The page token is not one that this server gave out.', {
    violations: [{ field: 'pageToken', description: 'must be the nextPageToken of an earlier response' }],
  });
}
