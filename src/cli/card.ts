import { cardHash, verifyCard } from '../a2a/client/card-trust.js';
import { KEYS_PATH } from '../core/card.js';
import type { Json, JsonObject } from '../core/json.js';
import { isJsonObject } from '../core/json.js';
import { silentLogger } from '../core/logger.js';
import { JwtKeys, keysFromFile, keysFromUrl } from '../http/jwt-keys.js';
import type { CommandContext } from './command.js';
import type { Connection, ConnectionFlags } from './connection.js';
import { connect } from './connection.js';
import { ask } from './explain.js';
import { EXIT } from './exit.js';
import { createPaint } from './render.js';
import { jsonLine, safeLine } from './safe-text.js';

export interface CardFlags extends ConnectionFlags {
  readonly json?: boolean;
  /** Check its signature, and show its hash. */
  readonly verify?: boolean;
  /** The file with the keys that it is checked with; without it, those of its server. */
  readonly keys?: string;
}

/** `lango card`: an agent card as it is served. `name` may also be an address. */
export async function card(
  name: string | undefined,
  flags: CardFlags,
  { env, terminal }: CommandContext,
): Promise<number> {
  const isUrl = name !== undefined && /^https?:\/\//i.test(name);
  const agent = isUrl ? undefined : name;
  const connection = await connect(isUrl ? { ...flags, url: name } : flags, env);
  const served = await ask(connection, connection.client.card(agent), agent);
  const proof = flags.verify || flags.keys !== undefined ? await prove(served, connection, flags) : undefined;
  if (flags.json) terminal.print(jsonLine(proof ? { card: served, ...proof } : served));
  else for (const line of linesOf(served, terminal.color, proof)) terminal.print(line);
  return EXIT.ok;
}

interface Proof {
  readonly hash: string;
  readonly signature: { readonly kid: string; readonly alg: string };
}

/** Throws `forbidden` when no signature can be verified. */
async function prove(served: JsonObject, connection: Connection, { keys }: CardFlags): Promise<Proof> {
  const address = new URL(KEYS_PATH, connection.url).href;
  const load = keys === undefined ? keysFromUrl(address, connection.fetch) : keysFromFile(keys);
  const trusted = new JwtKeys({ load, refreshSeconds: 60, cooldownSeconds: 1, logger: silentLogger });
  const { kid, alg } = await verifyCard(served, (header, token) => trusted.find(header, token));
  return { hash: cardHash(served), signature: { kid, alg } };
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
