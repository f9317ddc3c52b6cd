import { z } from 'zod';
import { referencedSecrets } from '../../../core/secrets.js';
import { defineTool, type Tool } from '../../../core/tool.js';
import { headersField, REQUEST_FIELDS, requestInit, responseText } from '../../../core/web-request.js';
import { isChange } from './changes.js';

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
