import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import { referencedSecrets } from '../../core/secrets.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { headersField, REQUEST_FIELDS, requestInit, responseText } from '../../core/web-request.js';
import type { ForwardedRequest } from '../../http/forwarder.js';

const MAX_CHANGES = 10;
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD']);
/** Headers by which some services take another method than that of the request. */
const OTHER_METHOD = /^x-(http-)?method(-override)?$/i;

/** Whether a request may change something at its service. A person approves such a request of an agent. */
function isChange(method: string, headerNames: Iterable<string>): boolean {
  return !READING.has(method.toUpperCase()) || [...headerNames].some((name) => OTHER_METHOD.test(name));
}

/** "DELETE api.github.com github": the method, the host and the name of the secret. */
const CHANGE = /^(?:GET|POST|PUT|PATCH|DELETE) \S{1,260} [\w.-]{1,64}$/;

/** As in the argument: each as "METHOD HOST SECRET", with commas. */
export type Changes = string | undefined;

/**
 * The argument by which a command names the changes that it makes over `$LANGO_HTTP`, before a person is asked. It is a text,
 * because a list of objects costs each request four times the tokens.
 */
export const changesField = () =>
  z
    .string()
    .refine((text) => {
      const all = listed(text);
      return all.length <= MAX_CHANGES && all.every((one) => CHANGE.test(one));
    }, `must be "METHOD HOST SECRET", at most ${MAX_CHANGES} with commas`)
    .optional()
    .describe('If not GET: METHOD HOST SECRET, …');

function listed(changes: Changes = ''): readonly string[] {
  return changes.split(',').flatMap((one) => one.trim() || []);
}

/** Describes the changes for the person who approves the command; empty without any. */
export function describeChanges(changes: Changes): string {
  const each = listed(changes).map((one) => {
    const [method, host, secret] = one.split(' ');
    // A request that reads is named only because of such a header.
    const said = method === 'GET' ? 'GET with a header for another method' : method;
    return `${said} to ${host} with the secret ${secret}`;
  });
  return each.length === 0 ? '' : `, which may send ${each.join(', and ')}`;
}

/** The rules by which a person is asked about changes. */
export interface ChangeRules {
  /** Whether a person is asked before `http_request` changes something. */
  readonly asksForRequests: boolean;
  /** Whether a person is asked before a dangerous call of the tool that runs the command. */
  readonly asksForCommand: boolean;
  readonly changes: Changes;
}

/** Throws `forbidden` for a request of a command that changes something, unless a person approved the command with it. */
export function assertApproved(
  { method, url, secrets, headerNames }: ForwardedRequest,
  { asksForRequests, asksForCommand, changes }: ChangeRules,
): void {
  if (!asksForRequests || !isChange(method, headerNames)) return;
  const named = new Set(listed(changes));
  const isNamed = (secret: string) =>
    [url.host, url.hostname].some((host) => named.has(`${method} ${host} ${secret}`));
  if (asksForCommand && secrets.every(isNamed)) return;
  const what = `${method} to ${url.host} with the secret ${secrets.join(', ')}`;
  const hint = asksForCommand
    ? `Put "${secrets.map((secret) => `${method} ${url.host} ${secret}`).join(', ')}" into \`changes\` of this call, or use http_request: a person is asked first.`
    : 'Use http_request: a person is asked first.';
  throw new LangoError('forbidden', `${what} changes something, and nobody approved that.`, { hint });
}

const { url, method, body } = REQUEST_FIELDS;
const schema = z.strictObject({ url, method, body, headers: headersField() });

type Input = z.infer<typeof schema>;

/** Creates the tool that requests a service. A secret goes only to hosts that its owner permitted, and no model sees it. */
export function httpTool(webFetch: typeof fetch, timeoutSeconds: number): Tool {
  const changes = ({ method = 'GET', headers = {} }: Input) => isChange(method, Object.keys(headers));
  return defineTool({
    name: 'http_request',
    description:
      'Sends one HTTP request to a service and returns its response. To authenticate, pass a ' +
      'secret by its reference in a header, such as {"Authorization": "Bearer {{secret:github}}"}. Redirects are not followed.',
    schema,
    isRare: true,
    effect: 'unsafe',
    effectOf: (input) => (changes(input) ? 'unsafe' : 'pure'),
    danger: (input) => (changes(input) ? 'dangerous' : 'moderate'),
    bringsOutside: true,
    secretPlace: 'http',
    timeoutMs: timeoutSeconds * 1_000,
    describe: ({ url, method = 'GET', body, headers = {} }) => {
      const names = referencedSecrets(Object.values(headers).join('\n'));
      const secrets = names.length === 0 ? '' : ` with the secret ${names.join(', ')}`;
      return `send ${method} ${url}${secrets}${body === undefined ? '' : ` and the body ${JSON.stringify(body)}`}`;
    },
    check: async (input, context) => void (await requestInit(input, context)),
    async execute(input, context) {
      const response = await webFetch(input.url, await requestInit(input, context));
      return { content: await responseText(response), isError: !response.ok };
    },
  });
}
