import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.js';
import type { ReadKeys } from '../core/card.js';
import { isLangoError, LangoError, type ErrorCode } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import type { Scope } from '../core/task.js';
import { createOwnerClient, type OwnerClient } from '../owners/client.js';
import type { SkillsElsewhere } from '../tools/skills/index.js';
import type { BorrowedSecretsOptions } from '../vault/borrowed-secrets.js';
import { fetchForOwners } from './peers.js';

interface Parts {
  readonly config: Config;
  readonly keys: ReadKeys;
  readonly logger: Logger;
}

type Key = keyof Config['a2a']['keptAt'];
type ClientFor = (scope: Scope, signal?: AbortSignal) => Promise<OwnerClient>;

/** One request. A skill comes in several, of some hundred kilobytes each. */
const REQUEST_MS = 5_000;

/**
 * Makes the client of what owners keep on another node of ours: the one that `a2a.keptAt` names, which is asked on behalf of
 * each owner. Undefined when this node keeps it.
 */
function clientOf(
  key: Key,
  { config, keys, logger }: Parts,
): { url: string; clientFor: ClientFor } | undefined {
  const node = config.a2a.keptAt[key];
  if (!node || !isKeptElsewhere(config, key)) return undefined;
  const fetchAs = fetchForOwners(node, { keys, config, timeoutMs: REQUEST_MS, logger });
  return {
    url: node.url,
    async clientFor(scope, signal) {
      const send = await fetchAs({ tenant: scope.tenant, owner: scope.owner });
      return createOwnerClient({
        url: node.url,
        fetch: (input, init) => send(input, { ...init, ...(signal && { signal }) }),
      });
    },
  };
}

/** Whether owners keep such things on another node than this one. */
export function isKeptElsewhere({ a2a: { keptAt, baseUrl } }: Pick<Config, 'a2a'>, key: Key): boolean {
  const node = keptAt[key];
  if (!node) return false;
  return baseUrl === undefined || new URL(node.url).origin !== new URL(baseUrl).origin;
}

export function skillsElsewhere(parts: Parts): SkillsElsewhere | undefined {
  const other = clientOf('skills', parts);
  if (!other) return undefined;
  const { clientFor } = other;
  return {
    list: async (scope, unless) => (await clientFor(scope)).listSkills({ unless }),
    async read(scope, name, after) {
      const { files, next } = await (await clientFor(scope)).readSkill({ name, after });
      return { items: files, next };
    },
  };
}

/** Errors that may be over soon. */
const PASSING: readonly ErrorCode[] = ['unavailable', 'timeout', 'too-many'];
const PAUSES_MS = [250, 1_000];

/**
 * Asks for a secret before a call has any effect, so it is safe to ask again for calls of every effect class: after a short
 * absence of the node the call goes on, else it fails with nothing done. The model, or the person who approved an unsafe call,
 * decides about a later one.
 */
export function askForSecrets(parts: Parts): BorrowedSecretsOptions['ask'] | undefined {
  const other = clientOf('secrets', parts);
  if (!other) return undefined;
  const { url, clientFor } = other;
  return async (scope, name, { tool, place, host, signal }) => {
    for (let attempt = 0; ; attempt += 1) {
      try {
        const client = await clientFor(scope, signal);
        // The places that are no place of this operation were refused before.
        const use = { name, tool, place: place as 'exec' | 'http', ...(host !== undefined && { host }) };
        return (await client.useSecret(use)).value;
      } catch (error) {
        signal?.throwIfAborted();
        const pause = PAUSES_MS[attempt];
        if (!isPassing(error) || pause === undefined) throw explained(error, url);
        await sleep(pause, undefined, { signal });
      }
    }
  };
}

function isPassing(error: unknown): boolean {
  return isLangoError(error) && PASSING.includes(error.code);
}

/** The error of a node that does not answer, or does not know this one. The refusals of a use stay as they are. */
function explained(cause: unknown, url: string): unknown {
  if (!isLangoError(cause)) return cause;
  const server = `The server that keeps the secrets, ${url},`;
  if (cause.code === 'unauthenticated') {
    return new LangoError('unavailable', `${server} does not know this one. Nothing was done.`, {
      hint: 'Its operator names this server in auth.nodes there, with may: [secrets]. Its log says what is wrong.',
      cause,
    });
  }
  if (!isPassing(cause)) return cause;
  return new LangoError('unavailable', `${server} does not answer: ${cause.message} Nothing was done.`, {
    hint: 'Call this again in a moment. If it fails again, tell the person that this server is away.',
    retryable: true,
    cause,
  });
}
