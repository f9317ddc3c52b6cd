import type { z } from 'zod';
import type { Command, WithOwner } from './command.js';
import { LangoError } from './errors.js';
import type { Finding, Path } from './findings.js';
import type { FetchOptions } from './http.js';
import type { Logger } from './logger.js';
import type { Distiller, Usage } from './model.js';
import type { KeepingNode, OperationHandlers, OperationTable } from './operation.js';
import type { OwnedData } from './page.js';
import type { Offer, Services } from './service.js';
import type { SqlDatabase, TableMigrations } from './sql.js';
import type { Scope } from './task.js';
import type { NodeFinding, ToolFamily } from './tool-family.js';

/** One thing that agents can do, with all that is its own: settings, tables, tools, operations. No other part names it. */
export interface Capability<
  Groups extends SettingsGroups = SettingsGroups,
  Table extends OperationTable = OperationTable,
> {
  /** 2 to 32 lower-case letters and digits, a letter first. Tables of a capability from outside begin with it and "_". */
  readonly name: string;
  /** The groups of settings, by their place in the configuration: "ingest", "tools.browser". */
  readonly settings?: Groups;
  readonly rules?: readonly SettingsRule<Groups>[];
  /** Environment variables that hold secrets of the settings. */
  readonly variables?: readonly SecretVariable[];
  readonly tables?: TableMigrations;
  /** The operations for owners, and for nodes on their behalf, over the routes of the server. */
  readonly operations?: Table;
  /** The kinds of owners' data that another server can keep for this one, by their names: see `keepingNode`. */
  readonly keeps?: Readonly<Record<string, KeptKind>>;
  /** The words of `lango data forget WORD NAME`, each with its kind of data. */
  readonly forgets?: Readonly<Record<string, string>>;
  readonly commands?: readonly Command<SettingsContext<Groups>>[];
  /** The names of tools whose calls a person decides one by one: `lango chat` offers no approval of all further ones. */
  readonly decidedSingly?: RegExp;
  /** The tools that the settings give to an agent by its name, whatever the prefixes of its roster say. */
  assigns?(settings: SettingsOf<Groups>): readonly ToolAssignment[];
  /** The sentences that the offline model understands. */
  readonly sentences?: readonly SentenceRow[];
  /** Opens what the capability keeps, without I/O. Other capabilities' services are there once all are open. */
  open(context: CapabilityContext<Groups>): OpenCapability<Table>;
  /** The settings for a start that only tries the server: without what `diagnose` checks itself. */
  trialSettings?(settings: SettingsOf<Groups>): SettingsOf<Groups>;
  /** Checks what is needed here, for `lango doctor`, beside the states of the families. Changes nothing. */
  diagnose?(context: DiagnosisContext<Groups>): Promise<readonly Diagnosis[]>;
}

/** Groups of settings by their place in the configuration. */
export type SettingsGroups = Readonly<Record<string, z.ZodType>>;

/** The checked settings of a capability, with defaults and absolute paths. They hold secrets: never log them. */
export type SettingsOf<Groups extends SettingsGroups> = {
  readonly [Place in keyof Groups]: z.output<Groups[Place]>;
};

export interface SettingsRule<Groups extends SettingsGroups> {
  /** The keys that the rule reads. It is skipped if one of them is invalid alone. */
  readonly keys: readonly string[];
  /** Whether the rule applies to servers only, because it concerns the keys of vendors. */
  readonly isForServersOnly?: boolean;
  check(settings: SettingsOf<Groups>): RuleResult;
}

export interface RuleResult {
  readonly findings?: readonly Finding[];
  /** The addresses that secrets are sent to: a plain one is a risk that the operator must name. */
  readonly sent?: readonly { readonly path: Path; readonly url: string | undefined }[];
  /** Files that agents must not be able to change. */
  readonly guarded?: readonly { readonly file: string; readonly what: string }[];
}

/** A kind of data that servers keep for others. Its name is a key of `a2a.keptAt` and a right in `auth.nodes[].may`. */
export interface KeptKind {
  /** Completes the sentence "The server that stores …". */
  readonly what: string;
  /** The meaning of the right, for the reference. Default: only the owners' own requests go to that server. */
  readonly right?: string;
}

/** Tools whose names begin with `prefix` belong to `agent`, which the setting at `path` names. */
export interface ToolAssignment {
  readonly prefix: string;
  readonly agent: string;
  readonly path: Path;
}

/** An environment variable that fills a secret which the file leaves out. With `_FILE` it names a file. */
export interface SecretVariable {
  readonly name: string;
  /** For the reference: a sentence. Left out for a variable that is described elsewhere. */
  readonly description?: string;
  readonly path: Path;
  /** Whether stored data cannot be read without it: commands on a data folder need it too. */
  readonly opensData?: boolean;
  /** Whether it applies, by the values of the file in the group of the secret. Default: it does. */
  applies?(group: Readonly<Record<string, unknown>>): boolean;
}

/** A sentence, the tool that it asks for, and arguments besides the placeholders of the sentence. */
export type SentenceRow = readonly [
  sentence: string,
  tool: string,
  arguments?: Readonly<Record<string, unknown>>,
];

export interface NodeFacts {
  /** The data folder, absolute. */
  readonly home: string;
  /** Whether requests may come from more than one owner. */
  readonly hasSeveralOwners: boolean;
  /** The owner of the server's own token. */
  readonly ownOwner: Scope;
  runsAgent(name: string): boolean;
  /** Whether a person is asked before a dangerous call of the tool. */
  needsApproval(tool: string): boolean;
  /** The environment variables of the server. They hold secrets: never log them. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export interface BackgroundModels {
  /** Makes a distiller of the model of this name, else of the agents' model; undefined with the offline model. Calls are billed. */
  distiller(model: string | undefined, agent: string): Promise<Distiller | undefined>;
  /** Puts the usage of a model call that no task made on the bill of an owner. */
  bill(scope: Scope, by: { readonly model: string; readonly agent: string }, usage: Usage): void;
}

/** The context of a capability without a database, as for a command that only reads settings. */
export interface SettingsContext<Groups extends SettingsGroups> {
  readonly settings: SettingsOf<Groups>;
  readonly node: NodeFacts;
  /** Makes a `fetch` that checks every address and limits time and size. It is the only way out. */
  readonly createFetch: (options: FetchOptions) => typeof fetch;
  /** Hosts that may have a private address, by the configuration. */
  readonly allowPrivate: readonly string[];
  readonly services: Services;
  readonly logger: Logger;
}

export interface CapabilityContext<Groups extends SettingsGroups> extends SettingsContext<Groups> {
  readonly database: SqlDatabase;
  readonly models: BackgroundModels;
  /** Finds the server that keeps a kind of `keeps` (`a2a.keptAt`); undefined when this server keeps it. */
  readonly keepingNode: (kind: string) => KeepingNode | undefined;
}

/** A capability of a server, or of a data folder that a command has open. */
export interface OpenCapability<Table extends OperationTable = OperationTable> {
  readonly offers?: readonly Offer[];
  readonly ownedData?: OwnedData;
  readonly operations?: OperationHandlers<Table>;
  /** The largest body of its operations that take bytes. Default: 1 MiB. */
  readonly bodyBytes?: number;
  /** Makes the tools and starts what a server needs. Only a server calls it, once. */
  families?(): Promise<readonly ToolFamily[]> | readonly ToolFamily[];
  /** Ends what `open` began. Called after the families are closed. */
  close?(): Promise<void> | void;
}

export interface DiagnosisContext<Groups extends SettingsGroups> extends SettingsContext<Groups> {
  readonly withOwner: WithOwner;
}

/** A row of `lango doctor`. */
export interface Diagnosis extends Omit<NodeFinding, 'state' | 'code'> {
  readonly code?: string;
  readonly state: 'ok' | 'warn' | 'fail';
  /** The family whose row this one stands in place of. */
  readonly replaces?: string;
}

/** A capability as the lists of the server hold it. Of its types, those of its settings are left, for `SettingsInput`. */
export type DefinedCapability<Groups extends SettingsGroups = SettingsGroups> = Omit<
  Capability,
  'settings'
> & { readonly settings?: Groups };

/** Returns the capability for a list. The server gives each capability its own settings and no others. */
export function defineCapability<
  Groups extends SettingsGroups = Record<never, never>,
  Table extends OperationTable = Record<never, never>,
>(definition: Capability<Groups, Table>): DefinedCapability<Groups> {
  return definition;
}

const NAME = /^[a-z][a-z0-9]{1,31}$/;

/**
 * Throws `invalid-config` for a capability from outside with settings, routes, commands or kinds of data that are not
 * below its name, or an operation for the right to another kind of data.
 */
export function assertForeign(capability: Capability): void {
  const { name, settings = {}, operations = {}, commands = [], keeps = {} } = capability;
  if (!NAME.test(name)) throw foreignError(name, 'its name must be 2 to 32 lower-case letters and digits');
  const assertOwn = (must: string, found: readonly string[], isOwn: (one: string) => boolean): void => {
    const others = found.filter((one) => !isOwn(one));
    if (others.length > 0) throw foreignError(name, `its ${must} ${others.join(', ')}`);
  };
  const below = (start: string, mark: string) => (one: string) => `${one}${mark}`.startsWith(start + mark);
  const all = Object.values(operations);
  const [paths, rights] = [all.map(({ path }) => path), all.flatMap(({ right }) => right ?? [])];
  const usages = commands.map(({ usage }) => usage);
  assertOwn(`settings must be at ${name}, not at`, Object.keys(settings), below(name, '.'));
  assertOwn(`routes must be below /lango/${name}, not`, paths, below(`/lango/${name}`, '/'));
  assertOwn(`commands must begin with ${name}, not`, usages, below(name, ' '));
  assertOwn(`kinds of data must begin with ${name}, not`, Object.keys(keeps), below(name, '_'));
  assertOwn('operations must be for rights of its own, not', rights, (right) => Object.hasOwn(keeps, right));
}

function foreignError(name: string, text: string): LangoError {
  return new LangoError('invalid-config', `The capability ${name} is refused: ${text}.`, {
    hint: 'Correct it, or take it out of the list of capabilities.',
  });
}
