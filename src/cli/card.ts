import { readFile } from 'node:fs/promises';
import type { CardFinding } from '../a2a/client/card-lint.js';
import { lintCard } from '../a2a/client/card-lint.js';
import { cardHash, verifyCard } from '../a2a/client/card.js';
import { KEYS_PATH, serverUrl } from '../core/card.js';
import { codeOf, errorText, isLangoError, LangoError } from '../core/errors.js';
import type { Json, JsonObject } from '../core/json.js';
import { isJsonObject } from '../core/json.js';
import { silentLogger } from '../core/logger.js';
import { AGENT_NAME } from '../core/agent.js';
import { counted } from '../core/text.js';
import { JwtKeys, keysFromFile, keysFromUrl } from '../http/jwt-keys.js';
import type { CommandContext } from './terminal.js';
import type { Connection, ConnectionFlags } from './connection.js';
import { connect } from './connection.js';
import { ask, explain } from './explain.js';
import { EXIT } from './exit.js';
import { createPaint } from './render.js';
import { jsonLine, safeLine } from './safe-text.js';

/** Clients of this program refuse larger cards. */
const MAX_FILE_BYTES = 1024 * 1024;
/** The fields that a server adds to a file of agent-cards/. */
const SERVED_FIELDS = ['version', 'supportedInterfaces', 'capabilities', 'url', 'protocolVersion'];

export interface CardFlags extends ConnectionFlags {
  readonly json?: boolean;
  /** Report what is wrong with the card instead of showing it. */
  readonly check?: boolean;
  /** Check the signature, and show the hash. */
  readonly verify?: boolean;
  /** The file with the keys to check the signature with. Default: the keys of the card's server. */
  readonly keys?: string;
}

/** `lango card`: shows an agent card as it is served, or checks it. `name` may also be an address; to check, a file. */
export async function card(
  name: string | undefined,
  flags: CardFlags,
  { env, terminal }: CommandContext,
): Promise<number> {
  if (flags.check && name !== undefined && !isUrl(name) && !AGENT_NAME.test(name))
    return report(await checkFile(name, flags), flags, terminal);
  const agent = isUrl(name) ? undefined : name;
  const connection = await connect(isUrl(name) ? { ...flags, url: name } : flags, env);
  if (flags.check) return report(await checkServed(connection, agent, flags), flags, terminal);
  const served = await ask(connection, connection.client.card(agent), agent);
  const isVerified = flags.verify || flags.keys !== undefined;
  const proof = isVerified ? await prove(served, keySource(flags, connection)) : undefined;
  if (flags.json) terminal.print(jsonLine(proof ? { card: served, ...proof } : served));
  else for (const line of linesOf(served, terminal.color, proof)) terminal.print(line);
  return EXIT.ok;
}

function isUrl(name: string | undefined): name is string {
  return name !== undefined && /^https?:\/\//i.test(name);
}

type LoadKeys = () => Promise<unknown>;

function keySource({ keys }: CardFlags, { url, fetch: get }: Connection): LoadKeys {
  return keys === undefined ? keysFromUrl(serverUrl(url, KEYS_PATH).href, get) : keysFromFile(keys);
}

interface Proof {
  readonly hash: string;
  readonly signature: { readonly kid: string; readonly alg: string };
}

/** Throws `forbidden` when no signature can be verified. */
async function prove(served: JsonObject, load: LoadKeys): Promise<Proof> {
  const trusted = new JwtKeys({ load, refreshSeconds: 60, cooldownSeconds: 1, logger: silentLogger });
  const { kid, alg } = await verifyCard(served, (header, token) => trusted.find(header, token));
  return { hash: cardHash(served), signature: { kid, alg } };
}

interface Checked {
  /** The file or address of the card. */
  readonly source: string;
  readonly findings: readonly CardFinding[];
}

async function checkFile(file: string, flags: CardFlags): Promise<Checked> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    throw new LangoError(
      'invalid-input',
      `The card file ${file} cannot be read (${codeOf(error) ?? errorText(error)}).`,
      {
        hint: 'Name a file, an http or https address, or an agent of your server.',
        cause: error,
      },
    );
  }
  const source = file;
  if (Buffer.byteLength(text) > MAX_FILE_BYTES)
    return { source, findings: [broken(`is larger than ${MAX_FILE_BYTES} bytes, which no client reads.`)] };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { source, findings: [broken(`is not JSON: ${errorText(error)}`)] };
  }
  const isTemplate = isJsonObject(value) && SERVED_FIELDS.every((field) => !(field in value));
  const findings = lintCard(value, { isTemplate, bytes: Buffer.byteLength(text) });
  const keys = flags.keys === undefined ? undefined : keysFromFile(flags.keys);
  const signature = keys && isJsonObject(value) ? await signatureFindings(value, keys, 'error') : [];
  return { source, findings: [...findings, ...signature] };
}

async function checkServed(
  connection: Connection,
  agent: string | undefined,
  flags: CardFlags,
): Promise<Checked> {
  const source = agent ?? connection.url;
  let served: JsonObject;
  try {
    served = await connection.client.card(agent);
  } catch (error) {
    if (isLangoError(error, 'invalid-agent-response') || isLangoError(error, 'too-large'))
      return { source, findings: [broken(`cannot be read. ${error.message}`)] };
    throw await explain(error, connection, agent);
  }
  const isDemanded = flags.verify || flags.keys !== undefined;
  const isSigned = Array.isArray(served['signatures']) && served['signatures'].length > 0;
  const signature =
    isDemanded || isSigned
      ? await signatureFindings(served, keySource(flags, connection), isDemanded ? 'error' : 'warning')
      : [];
  const bytes = Buffer.byteLength(JSON.stringify(served));
  return { source, findings: [...lintCard(served, { bytes }), ...signature] };
}

async function signatureFindings(
  served: JsonObject,
  load: LoadKeys,
  severity: CardFinding['severity'],
): Promise<readonly CardFinding[]> {
  try {
    await prove(served, load);
    return [];
  } catch (error) {
    const text = `cannot be verified. ${errorText(error)} Name the keys of its server with --keys FILE.`;
    return [{ severity, path: 'signatures', text }];
  }
}

function broken(text: string): CardFinding {
  return { severity: 'error', path: '', text };
}

function report(
  { source, findings }: Checked,
  flags: CardFlags,
  terminal: CommandContext['terminal'],
): number {
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const warnings = findings.length - errors;
  if (flags.json) terminal.print(jsonLine({ source, errors, warnings, findings }));
  else {
    for (const { severity, path, text: problem } of findings)
      terminal.print(`${severity.padEnd(8)} ${safeLine(path || 'The card')} ${safeLine(problem)}`);
    terminal.print(`${safeLine(source)}: ${counted(errors, 'error')}, ${counted(warnings, 'warning')}`);
  }
  return errors === 0 ? EXIT.ok : EXIT.failure;
}

function linesOf(served: JsonObject, color: boolean, proof: Proof | undefined): readonly string[] {
  const paint = createPaint(color);
  const row = (name: string, value: string): string => `${paint.dim(name.padEnd(12))} ${value}`;
  const capabilities = isJsonObject(served['capabilities']) ? served['capabilities'] : {};
  const able = Object.entries(capabilities).flatMap(([name, value]) =>
    value === true ? [safeLine(name)] : [],
  );
  return [
    `${paint.author(text(served['name']))} ${text(served['version'])}`,
    text(served['description']),
    '',
    ...objects(served['supportedInterfaces']).map((one) =>
      row(
        'interface',
        `${text(one['protocolBinding'])} ${text(one['protocolVersion'])} at ${text(one['url'])}`,
      ),
    ),
    row('can', able.join(', ') || 'answer'),
    ...objects(capabilities['extensions']).map(({ uri }) => row('extension', text(uri))),
    row('takes', texts(served['defaultInputModes'])),
    row('gives', texts(served['defaultOutputModes'])),
    row('security', securityText(served['securitySchemes'])),
    ...(proof
      ? [
          row('signed by', `${safeLine(proof.signature.kid)} (${proof.signature.alg})`),
          row('hash', proof.hash),
        ]
      : []),
    ...objects(served['skills']).flatMap((skill) => [
      row('skill', `${paint.bold(text(skill['name']))}: ${text(skill['description'])}`),
      ...list(skill['examples']).map((example) => row('', `“${text(example)}”`)),
    ]),
  ];
}

function securityText(schemes: Json | undefined): string {
  const names = isJsonObject(schemes) ? Object.keys(schemes) : [];
  return safeLine(names.join(', ')) || 'none';
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? safeLine(value) : '';
}

function texts(value: Json | undefined): string {
  return list(value).map(text).join(', ') || 'anything';
}

function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

function objects(value: Json | undefined): readonly JsonObject[] {
  return list(value).filter((one) => isJsonObject(one));
}
