import type { Json, JsonObject } from '../core/json.js';
import { isJsonObject } from '../core/json.js';
import type { CommandContext } from './command.js';
import type { ConnectionFlags } from './connection.js';
import { ask, connect } from './connection.js';
import { EXIT } from './exit.js';
import { createPaint } from './render.js';
import { jsonLine, safeLine } from './safe-text.js';

export interface CardFlags extends ConnectionFlags {
  readonly json?: boolean;
}

/** `lango card`: an agent card as it is served. */
export async function card(
  agent: string | undefined,
  flags: CardFlags,
  { env, terminal }: CommandContext,
): Promise<number> {
  const connection = await connect(flags, env);
  const served = await ask(connection, connection.client.card(agent), agent);
  if (flags.json) terminal.print(jsonLine(served));
  else for (const line of linesOf(served, terminal.color)) terminal.print(line);
  return EXIT.ok;
}

function linesOf(served: JsonObject, color: boolean): readonly string[] {
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
