import { readFile } from 'node:fs/promises';
import { lintCard } from '../a2a/client/card-lint.js';
import { cardHash, verifyCard } from '../a2a/client/card.js';
import { AGENT_NAME } from '../core/agent.js';
import { KEYS_PATH, serverUrl } from '../core/card.js';
import { LangoError, codeOf, errorText, isLangoError } from '../core/errors.js';
import { isJsonObject, listIn, objectIn, objectsIn, textIn, type JsonObject } from '../core/json.js';
import { silentLogger } from '../core/logger.js';
import type { CardFinding } from '../core/node-status.js';
import { counted } from '../core/text.js';
import { JwtKeys, keysFromFile, keysFromUrl } from '../http/jwt-keys.js';
import { connect, type Call, type Connection, type ConnectionFlags } from './connection.js';
import { EXIT } from '../terminal/exit.js';
import { ask, explain } from './explain.js';
import type { Paint } from '../terminal/paint.js';
import { safeLine } from '../terminal/safe-text.js';
import type { Report } from '../terminal/terminal.js';

/** Clients of this program refuse larger cards. */
const MAX_FILE_BYTES = 1024 * 1024;
/** The fields that a server adds to a file of agent-cards/. */
const SERVED_FIELDS = ['version', 'supportedInterfaces', 'capabilities', 'url', 'protocolVersion'];

interface CardFlags extends ConnectionFlags {
  /** Report what is wrong with the card instead of showing it. */
  readonly check?: boolean;
  /** Check the signature, and show the hash. */
  readonly verify?: boolean;
  /** The file with the keys to check the signature with. Default: the keys of the card's server. */
  readonly keys?: string;
}

/** `lango card`: shows an agent card as it is served, or checks it. `name` may also be an address; to check, a file. */
export async function card(name: string | undefined, call: Call<CardFlags>): Promise<Report> {
  const { flags, env, terminal } = call;
  const isUrl = name !== undefined && /^https?:\/\//i.test(name);
  if (flags.check && name !== undefined && !isUrl && !AGENT_NAME.test(name))
    return reportOn(name, await checkFile(name, flags));
  const agent = isUrl ? undefined : name;
  const connection = await connect({ env, flags: isUrl ? { ...flags, url: name } : flags });
  if (flags.check) return reportOn(agent ?? connection.url, await checkServed(connection, agent, flags));
  const served = await ask(connection, connection.client.card(agent), agent);
  const isVerified = flags.verify || flags.keys !== undefined;
  const proof = isVerified ? await prove(served, keySource(flags, connection)) : undefined;
  return { json: proof ? { card: served, ...proof } : served, lines: linesOf(served, terminal.paint, proof) };
}

type LoadKeys = () => Promise<unknown>;

function keySource({ keys }: CardFlags, { url, fetch: get }: Connection): LoadKeys {
  return keys === undefined ? keysFromUrl(serverUrl(url, KEYS_PATH).href, get) : keysFromFile(keys);
}

type Proof = Awaited<ReturnType<typeof prove>>;

/** Throws `forbidden` when no signature can be verified. */
async function prove(served: JsonObject, load: LoadKeys) {
  const trusted = new JwtKeys({ load, refreshSeconds: 60, cooldownSeconds: 1, logger: silentLogger });
  const { kid, alg } = await verifyCard(served, trusted.find);
  return { hash: cardHash(served), signature: { kid, alg } };
}

type Findings = readonly CardFinding[];

async function checkFile(file: string, flags: CardFlags): Promise<Findings> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    const message = `The card file ${file} cannot be read (${codeOf(cause) ?? errorText(cause)}).`;
    const hint = 'Name a file, an http or https address, or an agent of your server.';
    throw new LangoError('invalid-input', message, { hint, cause });
  });
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_FILE_BYTES)
    return [broken(`is larger than ${MAX_FILE_BYTES} bytes, which no client reads.`)];
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return [broken(`is not JSON: ${errorText(error)}`)];
  }
  const isTemplate = isJsonObject(value) && SERVED_FIELDS.every((field) => !(field in value));
  const findings = lintCard(value, { isTemplate, bytes });
  if (flags.keys === undefined || !isJsonObject(value)) return findings;
  return [...findings, ...(await signatureFindings(value, keysFromFile(flags.keys), 'error'))];
}

async function checkServed(connection: Connection, agent: string | undefined, flags: CardFlags) {
  let served: JsonObject;
  try {
    served = await connection.client.card(agent);
  } catch (error) {
    if (isLangoError(error, 'invalid-agent-response') || isLangoError(error, 'too-large'))
      return [broken(`cannot be read. ${error.message}`)];
    throw await explain(error, connection, agent);
  }
  const findings = lintCard(served, { bytes: Buffer.byteLength(JSON.stringify(served)) });
  const isDemanded = flags.verify || flags.keys !== undefined;
  if (!isDemanded && listIn(served['signatures']).length === 0) return findings;
  const severity = isDemanded ? 'error' : 'warning';
  return [...findings, ...(await signatureFindings(served, keySource(flags, connection), severity))];
}

async function signatureFindings(served: JsonObject, load: LoadKeys, severity: CardFinding['severity']) {
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

/** `source` is the file or address of the card. */
function reportOn(source: string, findings: Findings): Report {
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const warnings = findings.length - errors;
  const lines = findings.map(
    (one) => `${one.severity.padEnd(8)} ${safeLine(one.path || 'The card')} ${safeLine(one.text)}`,
  );
  lines.push(`${safeLine(source)}: ${counted(errors, 'error')}, ${counted(warnings, 'warning')}`);
  const json = { source, errors, warnings, findings };
  return { json, lines, exitCode: errors === 0 ? EXIT.ok : EXIT.failure };
}

function linesOf(served: JsonObject, paint: Paint, proof: Proof | undefined): readonly string[] {
  const row = (name: string, value: string): string => `${paint.dim(name.padEnd(12))} ${value}`;
  const capabilities = objectIn(served['capabilities']);
  const able = Object.keys(capabilities).filter((name) => capabilities[name] === true);
  const schemes = Object.keys(objectIn(served['securitySchemes']));
  return [
    `${paint.author(text(served['name']))} ${text(served['version'])}`,
    text(served['description']),
    '',
    ...objectsIn(served['supportedInterfaces']).map(({ protocolBinding, protocolVersion, url }) =>
      row('interface', `${text(protocolBinding)} ${text(protocolVersion)} at ${text(url)}`),
    ),
    row('can', safeLine(able.join(', ')) || 'answer'),
    ...objectsIn(capabilities['extensions']).map(({ uri }) => row('extension', text(uri))),
    row('takes', texts(served['defaultInputModes'])),
    row('gives', texts(served['defaultOutputModes'])),
    row('security', safeLine(schemes.join(', ')) || 'none'),
    ...(proof ? [row('signed by', `${safeLine(proof.signature.kid)} (${proof.signature.alg})`)] : []),
    ...(proof ? [row('hash', proof.hash)] : []),
    ...objectsIn(served['skills']).flatMap((skill) => [
      row('skill', `${paint.bold(text(skill['name']))}: ${text(skill['description'])}`),
      ...listIn(skill['examples']).map((example) => row('', `“${text(example)}”`)),
    ]),
  ];
}

const text = (value: unknown): string => safeLine(textIn(value));

const texts = (value: unknown): string => listIn(value).map(text).join(', ') || 'anything';
