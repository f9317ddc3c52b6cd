import { z } from 'zod';
import { choice, flag, httpUrl, list, optional, path, seconds, subAgentName } from '../../core/fields.js';
import { secret, secretHeaders, secretLine, text, variableName } from '../../core/fields.js';
import { oauth2 } from '../../core/oauth2-fields.js';

/** The names of the server's tools contain it, followed by "_", so it contains none itself. */
const serverName = z
  .string()
  .regex(/^[a-z][a-z0-9]{0,19}$/, 'must be at most 20 lower-case letters and digits');

const server = z
  .strictObject({
    command: optional(
      text(),
      'The program to start, which speaks MCP over stdin and stdout. It runs in a sandbox. Default: none.',
    ),
    args: list(z.array(z.string()), 'The arguments of the program.'),
    url: optional(
      httpUrl(),
      'The address of a server that speaks streamable HTTP, in place of `command`. Default: none.',
    ),
    agent: subAgentName()
      .default('operator')
      .describe(
        'The agent that gets the tools. The single agent of `agent.multiAgent: false` gets them all.',
      ),
    include: optional(
      z.array(text()).min(1),
      'The tools to offer, by the names that the server gives them. Default: all.',
    ),
    exclude: list(z.array(text()), 'Tools that are not offered.'),
    approval: choice(
      ['annotations', 'always', 'never'],
      'annotations',
      'Which calls are dangerous, so that they wait for a person under the default `approval.policy`. `annotations`: all but those of tools that the server calls read-only.',
    ),
    effect: choice(
      ['unsafe', 'pure'],
      'unsafe',
      'What happens to a call whose outcome is unknown after a crash. `unsafe`: a person is asked. `pure`: the call is repeated.',
    ),
    timeoutSeconds: seconds(60, 'The longest time of one call.'),
    env: z
      .record(variableName(), secretLine())
      .default({})
      .meta({ description: 'Environment variables for the program, which gets no others.', writeOnly: true }),
    sandbox: flag(true, 'Run the program in a sandbox. `false`: it has all rights of this server.'),
    network: flag(false, 'Let the program in the sandbox use the network.'),
    writable: list(z.array(path()), 'Folders that the program in the sandbox may write to, besides its own.'),
    readable: list(
      z.array(path()),
      "Folders that it may read, besides the system's programs: where it is installed.",
    ),
    token: secret('The bearer token to send to `url`. Default: none.'),
    oauth2: oauth2.optional().describe('Sends an access token of this issuer to `url`. Default: none.'),
    login: z
      .strictObject({
        issuer: optional(
          httpUrl(),
          'The issuer at which people sign in. Default: the one that the server names, at a public address.',
        ),
        tokenUrl: optional(
          httpUrl(),
          'The token endpoint, where it is not on the origin of the issuer. Default: the one that the issuer names.',
        ),
        authorizationUrl: optional(
          httpUrl(),
          'The page where people sign in, where it is not on the origin of the issuer. Default: the one that the issuer names.',
        ),
        clientId: optional(text(), 'The id of Lango at the issuer. Default: the issuer registers it.'),
        clientSecret: secret('The secret of that client. Default: none.'),
        scopes: list(z.array(text()), 'The scopes to ask for. Default: those that the server names.'),
      })
      .optional()
      .describe('A person signs in for `url`, with `lango mcp login NAME`. Default: nobody does.'),
    headers: secretHeaders('Further headers to send to `url`.'),
  })
  .refine(
    ({ command, url }) => (command === undefined) !== (url === undefined),
    'must have command or url, and not both',
  )
  .refine(
    (entry) => entry.oauth2 === undefined || (entry.url !== undefined && entry.token === undefined),
    'must have oauth2 only with url and without token',
  )
  .refine(
    ({ login, url, token, oauth2 }) =>
      login === undefined || (url !== undefined && token === undefined && oauth2 === undefined),
    'must have login only with url, and without token and oauth2',
  );

/** One entry of `mcp.servers`. */
export type ServerSettings = z.output<typeof server>;

const servers = z
  .record(serverName, server)
  .default({})
  .describe('The servers by name. A tool is `mcp_NAME_TOOL`; it belongs to the agent that the entry names.');

export const MCP_SETTINGS = { 'mcp.servers': servers };

/** The client of the protocol, which is installed only where it is used. */
export const PACKAGE = '@modelcontextprotocol/client';
export const MISSING = {
  message: `the package ${PACKAGE} is not installed`,
  hint: `Run: npm install ${PACKAGE}`,
};
