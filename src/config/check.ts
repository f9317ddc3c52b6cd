import { keyOf, finding, type Finding, type Path } from '../core/findings.js';
import { isAbsolute, relative } from 'node:path';
import { isLoopback, isPrivateTransport } from '../core/addresses.js';
import type { Capability, RuleResult } from '../core/capability.js';
import { unsafeIssuer } from '../core/oauth2-fields.js';
import { type BasePaths, groupsOf, hasSeveralOwners, withPaths } from './config.js';
import { modelFindings, modelOf, modelSecretsOf, otherModelsOf } from './models.js';
import { isGroup } from './layers.js';
import { findingsOf } from './problems.js';
import { RISKS, isReadableByAll, isWeakToken, type Risk } from './risks.js';
import { schemasAt, type Settings, type SettingsSchema } from './schema.js';

export type Checked =
  | { readonly settings: Settings; readonly findings?: undefined }
  | { readonly settings?: undefined; readonly findings: readonly Finding[] };

/**
 * The purpose for which a configuration is read. `serve`: to start a server; every rule and every secret counts. `data`: to
 * work with the data folder, without the keys of vendors. `call`: to call the running server; no rule between keys counts.
 * `show`: to print it; keys with errors are left out.
 */
export type Purpose = 'serve' | 'data' | 'call' | 'show';

/** Switches off zod's compiler, because compiling the schema takes longer than one interpreted check. */
const PARSE_OPTIONS = { jitless: true } as const;

/** The settings to check, and the place that they come from. */
interface Given {
  readonly values: unknown;
  readonly schema: SettingsSchema;
  readonly base: BasePaths;
  /** Default: `serve`. */
  readonly purpose?: Purpose | undefined;
}

/** Checks each key alone, then the rules between keys. Returns every finding at once. Yields between steps that take long. */
export function* checkSettings(given: Given): Generator<void, Checked> {
  const { values, schema, base, purpose } = given;
  const result = schema.zod.safeParse(values, PARSE_OPTIONS);
  if (result.success) {
    yield;
    const settings = withPaths(schema, result.data, base);
    const findings = rulesFor(given).flatMap((rule) => rule.check(settings, base));
    return findings.length === 0 ? { settings } : { findings };
  }
  const findings = findingsOf(result.error.issues, (path) => schemasAt(path, schema.json));
  const rest = schema.zod.safeParse(withoutInvalid(values, findings), PARSE_OPTIONS);
  if (!rest.success) return { findings };
  const settings = withPaths(schema, rest.data, base);
  if (purpose === 'show') return { settings };
  const rules = unconcerned(rulesFor(given), findings);
  return { findings: [...findings, ...rules.flatMap((rule) => rule.check(settings, base))] };
}

function rulesFor({ schema, purpose = 'serve' }: Given): readonly Rule[] {
  if (purpose === 'call' || purpose === 'show') return [];
  const rules = [...RULES, ...schema.capabilities.flatMap(rulesOf)];
  return purpose === 'serve' ? rules : rules.filter(({ isForServersOnly }) => isForServersOnly !== true);
}

/** The rules of a capability, with what the server makes of their results. */
function rulesOf(capability: Capability): readonly Rule[] {
  return (capability.rules ?? []).map((rule) => ({
    ...rule,
    keys: [...rule.keys, 'server.allowRisks', 'workspace'],
    check(settings) {
      const { findings = [], sent = [], guarded = [] } = rule.check(groupsOf(capability, settings));
      const risky = sent.flatMap(({ path, url }) => sentFinding(settings, url, path));
      return [...findings, ...risky, ...exposedTo(settings.workspace, guarded)];
    },
  }));
}

/** Returns those rules whose keys are valid by themselves. */
function unconcerned(rules: readonly Rule[], findings: readonly Finding[]): readonly Rule[] {
  const wrong = findings.map(({ path }) => keyOf(path));
  const concerns = (key: string): boolean =>
    wrong.some((one) => one === '' || one.startsWith(key) || key.startsWith(`${one}.`));
  return rules.filter(({ keys }) => !keys.some(concerns));
}

/** A copy without the values of the findings. For a path into a list it lacks the whole list. */
function withoutInvalid(values: unknown, findings: readonly Finding[]): unknown {
  const copy = structuredClone(values);
  return findings.every(({ path }) => removeAt(copy, path)) ? copy : undefined;
}

/** Removes the value at `path`. Returns false if the whole `value` must be removed for that. */
function removeAt(value: unknown, [step, ...rest]: Path): boolean {
  if (typeof step !== 'string' || !isGroup(value)) return false;
  const isGroupStill = rest.length > 0 && Object.hasOwn(value, step) && removeAt(value[step], rest);
  if (!isGroupStill) delete value[step];
  return true;
}

/** A condition between keys. `check` gets the settings with absolute paths. */
interface Rule {
  /** The keys that the rule reads. The rule is skipped if one of them is invalid alone. */
  readonly keys: readonly string[];
  /** Whether the rule applies to servers only, because it concerns access to them or the keys of vendors. */
  readonly isForServersOnly?: boolean;
  check(settings: Settings, base: BasePaths): readonly Finding[];
}

const RULES: readonly Rule[] = [
  { keys: ['auth.mode', 'server.host'], check: checkOpenServer },
  { keys: ['server', 'auth', 'a2a', 'model'], isForServersOnly: true, check: checkRisks },
  { keys: ['auth.mode', 'auth.jwt'], check: checkJwt },
  { keys: ['auth.mode', 'auth.introspection'], check: checkIntrospection },
  { keys: ['auth.mode', 'server.tls'], check: checkMtls },
  { keys: ['auth.nodes', 'auth.audience', 'a2a.baseUrl'], check: checkNodes },
  { keys: ['auth.mode', 'auth.nodes', 'a2a.enabled', 'a2a.remoteAgents'], check: checkOwners },
  { keys: ['a2a.remoteAgents'], check: checkPeerAuth },
  { keys: ['server.tls'], check: checkTls },
  { keys: ['model', 'agent.models'], isForServersOnly: true, check: modelFindings },
  { keys: ['agent.roster', 'agent.ownAgents', 'a2a.remoteAgents'], check: checkAgentNames },
  { keys: ['workspace', 'storage.sqlite.file'], check: checkWorkspace },
];

/** Finds the risks that the settings take without naming them in `server.allowRisks`. */
function checkRisks(settings: Settings, { exposedSecret }: BasePaths): readonly Finding[] {
  const { auth, server, a2a, model } = settings;
  const { otlp } = settings.telemetry;
  const takes = (risk: Risk, isTaken: boolean, path: Path) =>
    isTaken ? riskFinding(settings, risk, path) : [];
  const sends = (value: string | undefined, address: string | undefined, path: Path) =>
    value === undefined ? [] : sentFinding(settings, address, path);
  const [otlpHeader] = Object.values(otlp.headers);
  const isPublic = !isLoopback(server.host);
  const main = modelOf(model);
  const mainKey = modelSecretsOf('apiKey', settings, main).get(main.key);
  const { certFile, keyFile } = server.tls;
  const hasExposedKey = keyFile !== undefined && isReadableByAll(keyFile);
  const isWeak = auth.mode === 'token' && auth.token !== undefined && isWeakToken(auth.token);
  return [
    ...takes('weakToken', isWeak, ['auth', 'token']),
    ...takes('plainHttp', isPublic && certFile === undefined, ['server', 'host']),
    ...takes('trustProxy', isPublic && server.trustProxy, ['server', 'trustProxy']),
    ...takes('readableSecrets', exposedSecret !== undefined, exposedSecret ?? []),
    ...takes('readableSecrets', hasExposedKey, ['server', 'tls', 'keyFile']),
    ...a2a.remoteAgents.flatMap(({ token, auth, owners, url }, index) =>
      sends(token ?? owners ?? (auth && 'auth'), url, ['a2a', 'remoteAgents', index, 'url']),
    ),
    ...Object.entries(a2a.keptAt).flatMap(([kind, at]) =>
      sends(kind, at?.url, ['a2a', 'keptAt', kind, 'url']),
    ),
    ...auth.nodes.flatMap(({ name, jwks }, index) => sends(name, jwks, ['auth', 'nodes', index, 'jwks'])),
    ...sends(otlpHeader, otlp.url, ['telemetry', 'otlp', 'url']),
    ...sends(mainKey, model.baseUrl, ['model', 'baseUrl']),
    ...otherModelsOf(settings).flatMap(({ path, given }) =>
      typeof given === 'string' ? [] : sends(given.apiKey, given.baseUrl, [...path, 'baseUrl']),
    ),
  ];
}

/** Finds a risk that the settings take without naming it in `server.allowRisks`. */
function riskFinding({ server }: Pick<Settings, 'server'>, risk: Risk, path: Path): readonly Finding[] {
  if (server.allowRisks.includes(risk)) return [];
  return finding(path, `is refused: ${RISKS[risk]}; if that is meant, add ${risk} to server.allowRisks`);
}

/** Finds an address to which a token or key is sent without TLS. */
function sentFinding(settings: Settings, address: string | undefined, path: Path): readonly Finding[] {
  const isSafe = address === undefined || isPrivateTransport(address);
  return isSafe ? [] : riskFinding(settings, 'plainHttpToken', path);
}

function checkOpenServer({ auth, server }: Settings): readonly Finding[] {
  if (auth.mode !== 'none' || isLoopback(server.host)) return [];
  const text = `must be "token" when server.host is "${server.host}"; "none" is for loopback addresses such as 127.0.0.1`;
  return finding(['auth', 'mode'], text);
}

function checkJwt({ auth: { mode, jwt } }: Settings): readonly Finding[] {
  if (mode !== 'jwt') return [];
  const at = ['auth', 'mode'];
  if (jwt.issuer === undefined) return finding(at, 'needs the issuer of the tokens: set auth.jwt.issuer');
  if (jwt.audience.length === 0) return finding(at, 'needs the accepted audiences: set auth.jwt.audience');
  if (jwt.jwksUrl !== undefined && jwt.jwksFile !== undefined)
    return finding(['auth', 'jwt', 'jwksFile'], 'must be left out, as auth.jwt.jwksUrl is set');
  const source = jwt.jwksFile === undefined ? (jwt.jwksUrl ?? jwt.issuer) : undefined;
  if (source === undefined || isPrivateTransport(source)) return [];
  const key = jwt.jwksUrl === undefined ? 'issuer' : 'jwksUrl';
  return finding(['auth', 'jwt', key], 'must be https: keys fetched over plain HTTP can be forged');
}

function checkIntrospection({ auth: { mode, introspection } }: Settings): readonly Finding[] {
  const { url, clientId, clientSecret } = introspection;
  const at = ['auth', 'introspection', 'url'];
  if (url === undefined) return [];
  if (mode !== 'jwt') return finding(at, 'is for auth.mode: jwt');
  if (!isPrivateTransport(url)) return finding(at, 'must be https: tokens are sent there');
  if (clientId !== undefined && clientSecret !== undefined) return [];
  return finding(at, 'needs auth.introspection.clientId and clientSecret as well');
}

function checkMtls({ auth, server: { tls } }: Settings): readonly Finding[] {
  if (auth.mode !== 'mtls' || tls.clientCaFile !== undefined) return [];
  return finding(['auth', 'mode'], 'needs the certificate authorities to trust: set server.tls.clientCaFile');
}

function checkNodes({ auth, a2a }: Settings): readonly Finding[] {
  if (auth.nodes.length === 0 || (auth.audience ?? a2a.baseUrl) !== undefined) return [];
  const text = 'needs the name of this server in their tokens: set a2a.baseUrl, or auth.audience';
  return finding(['auth', 'nodes'], text);
}

/** Without `owners`, all owners would be one owner on the other server and could read each other's data there. */
function checkOwners({ auth, a2a }: Settings): readonly Finding[] {
  if (!a2a.enabled || !hasSeveralOwners(auth)) return [];
  const text =
    'must be set, because this server has several owners: "forward" names the owner to the other server, "shared" makes all of them one owner there';
  return a2a.remoteAgents.flatMap(({ owners }, index) =>
    owners === undefined ? finding(['a2a', 'remoteAgents', index, 'owners'], text) : [],
  );
}

function checkPeerAuth({ a2a }: Settings): readonly Finding[] {
  return a2a.remoteAgents.flatMap(({ token, auth, owners, url }, index) => {
    const at = ['a2a', 'remoteAgents', index, 'auth'];
    if (!auth) return [];
    const { bearer, basic, oauth2, mtls } = auth;
    if (token !== undefined) return finding(at, 'must be left out, as token is set; auth.bearer is the same');
    const named = 'must be mtls or apiKey with owners: forward, because a bearer token names the owner';
    if (owners === 'forward' && (bearer ?? basic ?? oauth2) !== undefined) return finding(at, named);
    if (mtls && !url.startsWith('https:')) return finding([...at, 'mtls'], 'needs an https address in url');
    return oauth2 ? unsafeIssuer(oauth2, [...at, 'oauth2']) : [];
  });
}

function checkTls({ server: { tls } }: Settings): readonly Finding[] {
  const { certFile, keyFile, clientCaFile, crlFile } = tls;
  const at = ['server', 'tls'];
  if ((certFile === undefined) !== (keyFile === undefined)) {
    const [named, missing] = certFile === undefined ? ['keyFile', 'certFile'] : ['certFile', 'keyFile'];
    return finding([...at, named], `needs server.tls.${missing} as well`);
  }
  if (clientCaFile !== undefined && certFile === undefined)
    return finding([...at, 'clientCaFile'], 'needs server.tls.certFile and keyFile as well');
  if (crlFile !== undefined && clientCaFile === undefined)
    return finding([...at, 'crlFile'], 'needs server.tls.clientCaFile as well');
  return [];
}

function checkAgentNames({ agent, a2a }: Settings): readonly Finding[] {
  const listed = typeof agent.roster === 'string' ? [] : agent.roster;
  const local = new Set([...listed, ...agent.ownAgents].map(({ name }) => name));
  return a2a.remoteAgents.flatMap(({ name }, index) =>
    local.has(name) ? finding(['a2a', 'remoteAgents', index, 'name'], 'is the name of a local agent') : [],
  );
}

function checkWorkspace({ workspace, storage }: Settings, base: BasePaths): readonly Finding[] {
  return exposedTo(workspace, [
    { file: base.home, what: 'the data folder' },
    { file: storage.sqlite.file, what: 'the database' },
    ...(base.configFile === undefined ? [] : [{ file: base.configFile, what: 'the configuration file' }]),
  ]);
}

/** An agent that could write these files could give itself any permission. */
function exposedTo(workspace: readonly string[], guarded: NonNullable<RuleResult['guarded']>) {
  return workspace.flatMap((folder, index) => {
    const exposed = guarded.find(({ file }) => isInside(file, folder));
    if (exposed === undefined) return [];
    return finding(['workspace', index], `must not contain ${exposed.what}: agents could change it`);
  });
}

function isInside(file: string, folder: string): boolean {
  const toFile = relative(folder, file);
  return isAbsolute(file) && !isAbsolute(toFile) && toFile !== '..' && !toFile.startsWith('../');
}
