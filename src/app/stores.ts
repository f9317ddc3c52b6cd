import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ReadKeys } from '../core/card.js';
import type { Config } from '../config/config.js';
import { hasSeveralOwners } from '../config/config.js';
import type { LoadedConfig } from '../config/load.js';
import { folderProblem, makeFolder, vaultKeyFile } from '../config/private-file.js';
import { finding, type Finding } from '../config/problems.js';
import type { Path } from '../config/schema.js';
import type { Secrets } from '../config/secrets.js';
import { LangoError, errorText, isLangoError, type ErrorCode } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import { noScrubber, noSecrets, type SecretGuard } from '../core/secrets.js';
import type { Scope } from '../core/task.js';
import { createOwnerClient, type OwnerClient } from '../owners/client.js';
import type { Storage } from '../stores/storage.js';
import type { Health } from '../http/web-app.js';
import { startSweeping } from '../journal/sweeper.js';
import { scrubLogger } from '../scrub/data.js';
import type { Moved } from '../storage/moving.js';
import { openSqliteStorage } from '../storage/sqlite/storage.js';
import { DiskBudget } from '../disk/disk-budget.js';
import { ownedSkillsFolder, type SkillsElsewhere } from '../capabilities/skills/skills.js';
import { WorkFolders } from '../disk/work-folders.js';
import {
  BorrowedSecrets,
  type BorrowedSecretsOptions,
} from '../capabilities/secrets/vault/borrowed-secrets.js';
import { OwnerSecrets } from '../capabilities/secrets/vault/owner-secrets.js';
import { openVault, type SealedVault } from '../capabilities/secrets/vault/vault.js';
import { fetchForOwners } from './peers.js';

export { backUp, restore } from '../storage/sqlite/backup.js';
export { verifyDatabase } from '../storage/sqlite/verify.js';

const HOUR_MS = 60 * 60 * 1_000;
const DAY_MS = 24 * HOUR_MS;

/** Registers a function that gives a part back when the server stops. The last one registered runs first. */
export type OnStop = (close: () => Promise<void> | void) => void;

export interface Stores {
  readonly storage: Storage;
  readonly vault: VaultAccess;
  /** The access of agents and the journal to the secrets of owners, which may be kept on another node. */
  readonly guard: SecretGuard;
  /** Writes no value of a secret. */
  readonly logger: Logger;
}

export interface StoresOptions extends LoadedConfig {
  /** See `AppOptions`. */
  readonly acceptDamage?: boolean | undefined;
  readonly logger: Logger;
}

/** The keys of this node, which sign for the owners whose secrets are kept elsewhere. */
type StoresParts = StoresOptions & { readonly keys: ReadKeys };

/** Opens the database and the vault in it, and starts to remove tasks that are older than `tasks.retentionDays`. */
export async function openStores(
  { config, secrets, acceptDamage, keys, logger }: StoresParts,
  onStop: OnStop,
): Promise<Stores> {
  const { retentionDays } = config.tasks;
  const storage = await openStorage({ config, secrets, acceptDamage, logger });
  onStop(() => storage.close());
  const noteCrash = (error: unknown) => storage.tasks.noteCrash(crashText(error));
  process.on('uncaughtExceptionMonitor', noteCrash);
  onStop(() => void process.off('uncaughtExceptionMonitor', noteCrash));
  if (retentionDays > 0) {
    onStop(startSweeping({ retention: storage.retention, ageMs: retentionDays * DAY_MS, logger }));
  }
  const vault = await openVaultAccess({ config, secrets, storage, logger });
  const everywhere = vault.secrets?.everywhere ?? noScrubber;
  const ask = askForSecrets({ config, keys, logger });
  if (!ask) return { storage, vault, guard: guardOf(vault), logger: scrubLogger(logger, everywhere) };
  const guard = new BorrowedSecrets({ ask, own: guardOf(vault), ownEverywhere: everywhere, logger });
  return { storage, vault, guard, logger: scrubLogger(logger, guard.everywhere) };
}

/** Opens the database of the configuration: the embedded one, unless `storage.url` names another. */
export async function openStorage({
  config,
  secrets,
  acceptDamage,
  logger,
}: Omit<StoresOptions, 'origins'>): Promise<Storage> {
  const { messageIdHours, eventBytes } = config.tasks;
  const limits = { eventBytes, messageIdMs: messageIdHours * HOUR_MS };
  const { sqlite, ...server } = config.storage;
  const { databaseUrl: url } = secrets;
  if (url === undefined) return openSqliteStorage({ ...sqlite, ...limits, acceptDamage, logger });
  const { openPostgresStorage } = await import('../storage/postgres/storage.js');
  return openPostgresStorage({ ...server, ...limits, url, logger });
}

/**
 * Moves an embedded database into the one that the configuration names, which is empty. Rejects with `LangoError`
 * `invalid-config`, `not-found` or `storage`, with nothing moved.
 */
export async function moveDatabase(
  { config, secrets, logger }: Pick<StoresOptions, 'config' | 'secrets' | 'logger'>,
  { file = config.storage.sqlite.file, onTable }: { file?: string; onTable?: (name: string) => void },
): Promise<Moved> {
  const { sqlite, ...server } = config.storage;
  const url = requireUrl(secrets);
  const { openMoveSource } = await import('../storage/sqlite/move.js');
  const { moveIntoPostgres } = await import('../storage/postgres/move.js');
  const source = await openMoveSource({ ...sqlite, file, logger });
  try {
    return await moveIntoPostgres({ ...server, url, onTable, logger }, source);
  } finally {
    source.close();
  }
}

/**
 * Makes the tables in the PostgreSQL database of the configuration, or upgrades them. Rejects with `LangoError`
 * `invalid-config` or `storage`.
 */
export async function upgradeDatabase(
  sources: Pick<StoresOptions, 'config' | 'secrets' | 'logger'>,
): Promise<void> {
  requireUrl(sources.secrets);
  await (await openStorage(sources)).close();
}

function requireUrl({ databaseUrl }: Secrets): string {
  if (databaseUrl !== undefined) return databaseUrl;
  throw new LangoError('invalid-config', 'The configuration names no PostgreSQL database.', {
    hint: 'Set LANGO_DATABASE_URL, or storage.url.',
  });
}

/** Describes the PostgreSQL database of the configuration; undefined for the embedded one. */
export async function inspectServer({ config, secrets }: Pick<StoresOptions, 'config' | 'secrets'>) {
  const { databaseUrl: url } = secrets;
  if (url === undefined) return undefined;
  const { inspectPostgres } = await import('../storage/postgres/inspect.js');
  return inspectPostgres({ ...config.storage, url });
}

/** A node takes work as long as its last commit succeeded. Everyone may read the reason. */
export function healthOf(storage: Pick<Storage, 'problem'>): Health {
  const problem = storage.problem();
  return problem ? { ready: false, reason: problem.message } : { ready: true };
}

/** Names an error without its text, because clients read why their task failed. */
function crashText(error: unknown): string {
  return `an uncaught ${error instanceof Error ? error.name : typeof error}`;
}

/** Makes the data folder and the workspace. Rejects with `storage` when one cannot be made. */
export async function prepareFolders(config: Config): Promise<void> {
  for (const folder of [config.home, ...config.workspace]) {
    try {
      await makeFolder(folder);
    } catch (error) {
      throw new LangoError('storage', `The folder ${folder} cannot be made: ${errorText(error)}.`, {
        hint: 'Set LANGO_HOME, or workspace in the configuration, to a folder that you can write to.',
        cause: error,
      });
    }
  }
}

/** Finds problems of the folders that `prepareFolders` makes, for `config check`. Makes none of them. */
export async function folderFindings({ home, workspace }: Config): Promise<readonly Finding[]> {
  const at = async (path: Path, folder: string): Promise<readonly Finding[]> => {
    const problem = await folderProblem(folder);
    return problem === undefined
      ? []
      : finding(path, `is wrong: ${problem}; choose a folder that you can write to`);
  };
  const inHome = await at(['LANGO_HOME'], home);
  if (inHome.length > 0) return inHome;
  return (await Promise.all(workspace.map((folder, index) => at(['workspace', index], folder)))).flat();
}

/** The vault of this node, or the reason why it cannot be opened: the server then runs without it. */
export type VaultAccess =
  | { readonly vault: SealedVault; readonly secrets: OwnerSecrets; readonly problem?: undefined }
  | { readonly vault?: undefined; readonly secrets?: undefined; readonly problem: LangoError };

export interface VaultSources {
  readonly config: Config;
  readonly secrets: Secrets;
  readonly storage: Storage;
  readonly logger: Logger;
}

export async function openVaultAccess(sources: VaultSources): Promise<VaultAccess> {
  const { config, secrets, storage, logger } = sources;
  try {
    const keyFile = vaultKeyFile(config.vault.keyFile);
    const passphrase = secrets.vaultPassphrase;
    const vault = await openVault({ store: storage.vault, keyFile, passphrase });
    return { vault, secrets: await OwnerSecrets.open(vault, logger) };
  } catch (error) {
    if (error instanceof LangoError) return { problem: error };
    throw error;
  }
}

/** The guard of this node's own vault; without a vault, references to secrets cannot be resolved. */
export function guardOf({ secrets }: VaultAccess): SecretGuard {
  return secrets ?? noSecrets;
}

/** The folders that tools work in, and the limits for writing to them. */
export interface Disk {
  readonly folders: WorkFolders;
  readonly budget: DiskBudget;
}

const MIB = 1024 * 1024;
/** The limit of an owner with folders of its own, unless the configuration names another. */
const OWN_FOLDERS_MB = 4096;

export function workFoldersOf({ workspace, auth, disk }: Config): WorkFolders {
  const isApart = disk.workspaces === 'apart' && hasSeveralOwners(auth);
  return new WorkFolders(workspace, isApart);
}

export function createDisk(config: Config): Disk {
  const { disk } = config;
  const folders = workFoldersOf(config);
  const { isApart } = folders;
  const owned = ownedSkillsRoot(config);
  const budget = new DiskBudget({
    isApart,
    folders: (scope) => [...folders.of(scope), ownedSkillsFolder(owned, scope)],
    limits: { task: bytesOf(disk.taskMb), owner: bytesOf(disk.ownerMb ?? (isApart ? OWN_FOLDERS_MB : 0)) },
  });
  return { folders, budget };
}

/** The folder of the skills that owners saved, here or on another node. */
export function ownedSkillsRoot(config: Pick<Config, 'home' | 'a2a'>): string {
  return join(config.home, isKeptElsewhere(config, 'skills') ? 'owners-elsewhere' : 'owners');
}

function bytesOf(mb: number): number {
  return mb === 0 ? Infinity : mb * MIB;
}

interface ElsewhereParts {
  readonly config: Config;
  readonly keys: ReadKeys;
  readonly logger: Logger;
}

type Key = keyof Config['a2a']['keptAt'];
type ClientFor = (scope: Scope, signal?: AbortSignal) => Promise<OwnerClient>;

/** One request. A skill comes in several, of some hundred kilobytes each. */
const REQUEST_MS = 5_000;

/**
 * Makes the client for the data that owners keep on the node that `a2a.keptAt` names. Each request names its owner.
 * Undefined when this node keeps the data.
 */
function clientOf(
  key: Key,
  { config, keys, logger }: ElsewhereParts,
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

/** Whether another node keeps this kind of data. */
export function isKeptElsewhere({ a2a: { keptAt, baseUrl } }: Pick<Config, 'a2a'>, key: Key): boolean {
  const node = keptAt[key];
  if (!node) return false;
  return baseUrl === undefined || new URL(node.url).origin !== new URL(baseUrl).origin;
}

export function skillsElsewhere(parts: ElsewhereParts): SkillsElsewhere | undefined {
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

/** Temporary errors. */
const PASSING: readonly ErrorCode[] = ['unavailable', 'timeout', 'too-many'];
const PAUSES_MS = [250, 1_000];

/**
 * Asks for a secret before a call has any effect, so it is safe to ask again for calls of every effect class: when the
 * node answers again within a second, the call continues; otherwise it fails with nothing done. The model, or the
 * person who approved an unsafe call, decides whether to try later.
 */
function askForSecrets(parts: ElsewhereParts): BorrowedSecretsOptions['ask'] | undefined {
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
