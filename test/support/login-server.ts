import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { RecordingServer, type Received } from './token-server.js';

/** The faults of an issuer of `openLoginServer`. */
export interface Misbehavior {
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly resourceMetadata?: Readonly<Record<string, unknown>>;
  readonly challenge?: string;
  /** Parameters of the redirect to the client. */
  readonly redirect?: Readonly<Record<string, string>>;
  /** Responds to a request in place of the issuer. Returns false to leave it to the issuer. */
  readonly answer?: (request: Received, response: ServerResponse) => boolean;
}

/** An MCP server whose tool `whoami` needs a person's token, and the issuer of the tokens, each on its own port. */
export interface LoginServer extends AsyncDisposable {
  readonly mcp: RecordingServer;
  readonly issuer: RecordingServer;
  readonly url: string;
  /** The person whose tokens the issuer gives next. */
  person: string;
  seconds: number;
  /** Revokes all tokens that were issued. */
  revokeAll(): void;
  /** Makes the server refuse the access tokens of a person that were issued so far. The refresh tokens stay valid. */
  refuseAccess(person: string): void;
  /** The forms that the token endpoint received. */
  grants(type: string): readonly URLSearchParams[];
  misbehavior: Misbehavior;
}

export async function openLoginServer(misbehavior: Misbehavior = {}): Promise<LoginServer> {
  const [mcp, issuer] = await Promise.all([RecordingServer.open(), RecordingServer.open()]);
  const codes = new Map<string, { challenge: string; redirect: string; client: string }>();
  const access = new Map<string, string>();
  const refresh = new Map<string, string>();
  const clients = new Set<string>();
  let counted = 0;
  let polls = 0;

  const self: LoginServer = {
    mcp,
    issuer,
    misbehavior,
    url: `${mcp.url}/mcp`,
    person: 'ada',
    seconds: 300,
    revokeAll() {
      access.clear();
      refresh.clear();
    },
    refuseAccess: (person) =>
      [...access].filter(([, owner]) => owner === person).forEach(([token]) => access.delete(token)),
    grants: (type) =>
      issuer.received
        .filter(({ url }) => url === '/token')
        .map(({ body }) => new URLSearchParams(body))
        .filter((form) => form.get('grant_type') === type),
    async [Symbol.asyncDispose]() {
      await mcp[Symbol.asyncDispose]();
      await issuer[Symbol.asyncDispose]();
    },
  };

  const json = (response: ServerResponse, body: unknown, status = 200) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  const tokensFor = (person: string) => {
    counted += 1;
    const given = {
      access_token: `access-${person}-${counted}-0123456789`,
      refresh_token: `refresh-${person}-${counted}-0123456789`,
    };
    access.set(given.access_token, person);
    refresh.set(given.refresh_token, person);
    return { ...given, token_type: 'Bearer', expires_in: self.seconds };
  };

  const grant = (form: URLSearchParams): object | undefined => {
    if (!clients.has(form.get('client_id') ?? '') || form.get('resource') !== self.url) return undefined;
    switch (form.get('grant_type')) {
      case 'authorization_code': {
        const code = codes.get(form.get('code') ?? '');
        codes.delete(form.get('code') ?? '');
        const proof = createHash('sha256')
          .update(form.get('code_verifier') ?? '')
          .digest('base64url');
        const isIt = code && code.challenge === proof && code.redirect === form.get('redirect_uri');
        return isIt ? tokensFor(self.person) : undefined;
      }
      case 'refresh_token': {
        const person = refresh.get(form.get('refresh_token') ?? '');
        // A refresh token works once.
        refresh.delete(form.get('refresh_token') ?? '');
        return person === undefined ? undefined : tokensFor(person);
      }
      case 'urn:ietf:params:oauth:grant-type:device_code':
        polls += 1;
        return polls % 2 === 1 ? { error: 'authorization_pending' } : tokensFor(self.person);
      default:
        return undefined;
    }
  };

  issuer.answer = (request, response) => {
    if (self.misbehavior.answer?.(request, response)) return;
    const url = new URL(request.url, issuer.url);
    switch (url.pathname) {
      case '/.well-known/oauth-authorization-server':
        return json(response, {
          issuer: issuer.url,
          authorization_endpoint: `${issuer.url}/authorize`,
          token_endpoint: `${issuer.url}/token`,
          registration_endpoint: `${issuer.url}/register`,
          revocation_endpoint: `${issuer.url}/revoke`,
          device_authorization_endpoint: `${issuer.url}/device`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: ['none'],
          authorization_response_iss_parameter_supported: true,
          ...self.misbehavior.metadata,
        });
      case '/register': {
        const client = `client-${clients.size}`;
        clients.add(client);
        return json(response, { ...(JSON.parse(request.body) as object), client_id: client }, 201);
      }
      case '/authorize': {
        const { client_id, code_challenge, redirect_uri, state } = Object.fromEntries(url.searchParams);
        const code = `code-${(counted += 1)}`;
        codes.set(code, { challenge: code_challenge!, redirect: redirect_uri!, client: client_id! });
        const back = new URL(redirect_uri!);
        back.search = new URLSearchParams({
          code,
          state: state!,
          iss: issuer.url,
          ...self.misbehavior.redirect,
        }).toString();
        return void response.writeHead(302, { location: back.href }).end();
      }
      case '/device':
        return json(response, {
          device_code: 'device-0123456789',
          user_code: 'WDJB-MJHT',
          verification_uri: `${issuer.url}/activate`,
          expires_in: 60,
          interval: 1,
        });
      case '/revoke': {
        const form = new URLSearchParams(request.body);
        if (!clients.has(form.get('client_id') ?? ''))
          return json(response, { error: 'invalid_client' }, 401);
        for (const tokens of [access, refresh]) tokens.delete(form.get('token') ?? '');
        return void response.writeHead(200).end();
      }
      case '/token': {
        const given = grant(new URLSearchParams(request.body));
        if (!given) return json(response, { error: 'invalid_grant' }, 400);
        return json(response, given, 'error' in given ? 400 : 200);
      }
      default:
        return void response.writeHead(404).end();
    }
  };

  let person = '';
  const handler = createMcpHandler(() => {
    const server = new Server({ name: 'docs', version: '1' }, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/list', () => ({
      tools: [{ name: 'whoami', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }],
    }));
    const who = person;
    server.setRequestHandler('tools/call', () => ({ content: [{ type: 'text', text: `you are ${who}` }] }));
    return server;
  });
  mcp.answer = (request, response) => {
    if (request.url === '/.well-known/oauth-protected-resource/mcp')
      return json(response, {
        resource: self.url,
        authorization_servers: [issuer.url],
        scopes_supported: ['docs'],
        ...self.misbehavior.resourceMetadata,
      });
    if (request.url !== '/mcp') return void response.writeHead(404).end();
    const given = request.headers.authorization?.replace('Bearer ', '') ?? '';
    const owner = access.get(given);
    if (owner === undefined) {
      const where = self.misbehavior.challenge ?? `${mcp.url}/.well-known/oauth-protected-resource/mcp`;
      return void response
        .writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${where}"` })
        .end();
    }
    if (request.method !== 'POST') return void response.writeHead(405).end();
    void (async () => {
      // The server repeats the token that it got, like a hostile one.
      person = `${owner} with ${given}`;
      const answered = handler.fetch(
        new Request(self.url, {
          method: 'POST',
          headers: request.headers as Record<string, string>,
          body: request.body,
        }),
      );
      const { status, headers, body } = await answered;
      response.writeHead(status, Object.fromEntries(headers));
      response.end(body ? Buffer.from(await new Response(body).arrayBuffer()) : undefined);
    })();
  };
  return self;
}
