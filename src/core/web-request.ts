import { z } from 'zod';
import { isLoopback } from './addresses.js';
import { errorText, LangoError } from './errors.js';
import { parseJson } from './json.js';
import { referencedSecrets } from './secrets.js';
import type { ToolContext } from './tool.js';

const MAX_URL_CHARACTERS = 2_000;
const MAX_BODY_CHARACTERS = 64 * 1024;
const MAX_HEADER_CHARACTERS = 4_000;
const MAX_HEADERS = 20;
/** Headers that the HTTP client sets. */
const RESERVED_HEADERS: readonly string[] = [
  ...['host', 'connection', 'content-length', 'transfer-encoding', 'upgrade', 'te', 'trailer', 'expect'],
  'proxy-authorization',
];

/** The headers of a request. `reserved`: further headers that the tool itself sets, in lower case. */
export function headersField(reserved: readonly string[] = []) {
  const isOwn = (name: string) => [...RESERVED_HEADERS, ...reserved].includes(name.toLowerCase());
  return z
    .record(
      z
        .string()
        .regex(/^[A-Za-z0-9-]{1,64}$/)
        .refine((name) => !isOwn(name), 'is set by the server itself'),
      z.string().max(MAX_HEADER_CHARACTERS),
    )
    .refine((headers) => Object.keys(headers).length <= MAX_HEADERS, `at most ${MAX_HEADERS}`)
    .optional()
    .describe(
      'Request headers. {{secret:NAME}} in a value stands for a secret that may be sent to this host',
    );
}

/** The arguments of tools that send one HTTP request, besides its headers. */
export const REQUEST_FIELDS = {
  url: z
    .url({ protocol: /^https?$/ })
    .max(MAX_URL_CHARACTERS)
    .describe('The URL to request'),
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).optional().describe('GET by default'),
  body: z.string().max(MAX_BODY_CHARACTERS).optional().describe('The request body: JSON or text'),
};

type RequestInput = z.infer<
  z.ZodObject<typeof REQUEST_FIELDS & { headers: ReturnType<typeof headersField> }>
>;

/**
 * Returns the options for `fetch`. Resolves the secrets in header values for the host of the URL. They reach no other
 * host, because the egress client follows no redirects. Rejects with `forbidden` when a secret would be sent unencrypted.
 */
export async function requestInit(
  { url, method = 'GET', body, headers = {} }: RequestInput,
  context: ToolContext,
) {
  const { hostname, protocol } = new URL(url);
  const isPlain = protocol === 'http:' && !isLoopback(hostname);
  const text = `url: a secret may be sent to ${hostname} over https only. Use an https URL.`;
  const resolved: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (isPlain && referencedSecrets(value).length > 0) throw new LangoError('forbidden', text);
    resolved[name] = await context.resolveSecrets(value, hostname);
  }
  const { signal } = context;
  if (body === undefined) return { method, headers: resolved, signal };
  const type = parseJson(body) === undefined ? 'text/plain; charset=utf-8' : 'application/json';
  return { method, body, headers: { 'content-type': type, ...resolved }, signal };
}

const MAX_RESPONSE_CHARACTERS = 60_000;

/** Describes a response for a model: its status, media type and text. Says so when the body cannot be read; never rejects. */
export async function responseText(response: Response): Promise<string> {
  const { status, headers } = response;
  const type = headers.get('content-type') ?? 'no content type';
  const location = headers.get('location');
  const to = location === null ? '' : `, to ${location.slice(0, MAX_URL_CHARACTERS)}`;
  const head = `The response (status ${status}${to}, ${type.slice(0, 100)}):`;
  const bytes = await response.arrayBuffer().then(
    (buffer) => Buffer.from(buffer),
    (error: unknown) => error,
  );
  if (!(bytes instanceof Buffer)) return `${head} it could not be read: ${errorText(bytes)}`;
  if (bytes.includes(0)) return `${head} ${bytes.length} bytes that are not text.`;
  const text = bytes.toString('utf8');
  const left = text.length - MAX_RESPONSE_CHARACTERS;
  const cut = left > 0 ? `\n[… ${left} characters left out]` : '';
  return `${head}\n${text.slice(0, MAX_RESPONSE_CHARACTERS)}${cut}`;
}
