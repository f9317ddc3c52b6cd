import { ENDING_RULES } from './ablations-of-endings.js';
import { PACKAGE_RULES } from './ablations-of-packages.js';
import { REQUEST_RULES } from './ablations-of-requests.js';
import { TOOL_RULES } from './ablations-of-tools.js';

/** A rule of the sources, and the cases that fail without it. */
export interface Ablation {
  /** The rule, as one sentence. */
  readonly rule: string;
  /** The file of the rule, such as `src/models/conversation.ts`. */
  readonly file: string;
  /** Text that occurs once in the file. */
  readonly find: string;
  /** The text that takes its place and switches the rule off. */
  readonly replace: string;
  /** The ids of the cases that must fail then. */
  readonly red: readonly string[];
}

/** All rules for the quirks of vendors, MCP servers and peers. */
export const ABLATIONS: readonly Ablation[] = [
  ...ENDING_RULES,
  ...PACKAGE_RULES,
  ...REQUEST_RULES,
  ...TOOL_RULES,
  {
    rule: 'No blank text is sent.',
    file: 'src/models/conversation.ts',
    find: "if (block.type === 'text') return block.text.trim() !== '';",
    replace: "if (block.type === 'text') return true;",
    red: ['blank-text-Messages'],
  },
  {
    rule: 'An IPv6 address has brackets in addresses.',
    file: 'src/core/addresses.ts',
    find: "return name.includes(':') ? `[${name}]` : name;",
    replace: 'return name;',
    red: ['host-::1-[::1]', 'host-::-[::1]'],
  },
  {
    rule: 'An IPv4 address inside IPv6 is the IPv4 address.',
    file: 'src/core/addresses.ts',
    find: 'if (high === undefined || low === undefined) return short;',
    replace: 'if (short) return short;',
    red: ['host-::-127.0.0.2', 'host-::ffff:127.0.0.1-127.0.0.1'],
  },
  {
    rule: 'Line ends of Unicode are escaped in event streams.',
    file: 'src/a2a/server/sse.ts',
    find: 'this.#pending += onOneLine(text);',
    replace: 'this.#pending += text;',
    red: ['line-ends-/', 'line-ends-/message:stream'],
  },
  {
    rule: 'Line ends of Unicode are escaped in event streams of MCP.',
    file: 'src/a2a/server/mcp/route.ts',
    find: 'yield onOneLine(decoder.decode(chunk, { stream: true }));',
    replace: 'yield decoder.decode(chunk, { stream: true });',
    red: ['line-ends-/mcp'],
  },
  {
    rule: 'Idle connections stay open for server.limits.keepAliveSeconds.',
    file: 'src/http/host.ts',
    find: 'keepAliveTimeout: limits.keepAliveSeconds * 1000,',
    replace: '',
    red: ['idle-connections'],
  },
  {
    rule: 'Old results are cleared before the window is full.',
    file: 'src/agents/context-window.ts',
    find: 'if (room > 0 && tokens > room * FULL_SHARE) {',
    replace: 'if (room < 0) {',
    red: ['long-task-Chat Completions', 'long-task-Messages'],
  },
  {
    rule: 'A conversation is cleared in large steps.',
    file: 'src/agents/context-window.ts',
    find: 'const CLEARED_SHARE = 0.4;',
    replace: 'const CLEARED_SHARE = 0.8;',
    red: ['long-task-Chat Completions', 'long-task-Responses', 'long-task-Messages'],
  },
  {
    rule: 'A vendor counts more tokens than are estimated.',
    file: 'src/agents/context-window.ts',
    find: 'this.#ratio = Math.min(MAX_RATIO, Math.max(1, ratio));',
    replace: 'this.#ratio = Math.min(1, ratio);',
    red: ['long-task-Chat Completions'],
  },
  {
    rule: 'After a refusal of its length a request is sent with less.',
    file: 'src/agents/model-turn.ts',
    find: 'if (mayShorten && conversation.shorten(request, last.windowTokens)) continue;',
    replace: '',
    red: ['window-of-Anthropic', 'window-of-OpenAI', 'window-of-vLLM', 'window-of-LM Studio'],
  },
  {
    rule: 'The window that a vendor names or refuses is remembered.',
    file: 'src/agents/context-window.ts',
    find: 'return LEARNED.get(this.#asked) ?? this.#model.windowTokens;',
    replace: 'return this.#model.windowTokens;',
    red: ['window-of-Anthropic', 'window-of-MiniMax'],
  },
  {
    rule: 'What a fallback says of its window is not kept for the model.',
    file: 'src/agents/context-window.ts',
    find: 'return this.#model.fallbacks ? this : this.#model;',
    replace: 'return this.#model;',
    red: ['window-of-fallback'],
  },
  {
    rule: 'The number in a refusal of MiniMax is no window.',
    file: 'src/models/reason.ts',
    find: 'const ERROR_CODE = /exceeds limit \\(\\d+\\)/i;',
    replace: 'const ERROR_CODE = /^$/;',
    red: ['window-of-MiniMax'],
  },
  {
    rule: 'Earlier tasks take a part of the window only.',
    file: 'src/agents/agent.ts',
    find: 'const HISTORY_SHARE = 1 / 3;',
    replace: 'const HISTORY_SHARE = 2;',
    red: ['window-and-earlier-tasks'],
  },
  {
    rule: 'Requests go through the proxy of the configuration or the environment.',
    file: 'src/app/node.ts',
    find: '...{ ...options, proxyFor, logger },',
    replace: '...{ ...options, logger },',
    red: ['proxy-Chat Completions', 'proxy-Messages', 'proxy-everywhere'],
  },
  {
    rule: 'The user name and password of a proxy are sent to it.',
    file: 'src/http/checked-connections.ts',
    find: 'const proxyEnv = { HTTP_PROXY: proxy.href,',
    replace: 'const proxyEnv = { HTTP_PROXY: proxy.origin,',
    red: ['proxy-Chat Completions'],
  },
  {
    rule: 'Programs on this machine are reached without the proxy.',
    file: 'src/http/proxy.ts',
    find: 'isLoopback(url.hostname) || isDirect(url)',
    replace: 'isDirect(url)',
    red: ['proxy-not-for-loopback'],
  },
  {
    rule: 'Hosts of NO_PROXY are reached without the proxy.',
    file: 'src/http/proxy.ts',
    find: 'isLoopback(url.hostname) || isDirect(url)',
    replace: 'isLoopback(url.hostname) || !isDirect',
    red: ['no-proxy-model.invalid', 'no-proxy-*'],
  },
  {
    rule: 'Behind a proxy the text of an address is checked.',
    file: 'src/http/checked-connections.ts',
    find: 'lookupFor(url, proxy ? isPrivate : isPrivateAddress)',
    replace: 'lookupFor(url, proxy ? () => false : isPrivateAddress)',
    red: ['proxy-private'],
  },
  {
    rule: 'A refusal of the proxy is told as such.',
    file: 'src/http/egress.ts',
    find: 'if (response.status === 407 &&',
    replace: 'if (response.status === 1 &&',
    red: ['proxy-refuses-407-http://model.invalid'],
  },
  {
    rule: 'The keys in addresses are hidden from what is written and answered.',
    file: 'src/app.ts',
    find: 'alsoHiding(access?.guard ?? noSecrets, inAddresses)',
    replace: 'access?.guard ?? noSecrets',
    red: ['address-secrets-key=querysecret99'],
  },
  {
    rule: 'The address of a vendor is taken from its variable.',
    file: 'src/config/models.ts',
    find: 'const baseUrl = model.baseUrl ?? baseUrlOf(chosen.provider, model.baseUrls);',
    replace: 'const baseUrl = model.baseUrl;',
    red: ['vendor-variables'],
  },
  {
    rule: 'The line break at the end of a key is left out.',
    file: 'src/core/fields.ts',
    find: "const withoutLineEnd = (value: string): string => value.replace(/[\\r\\n]+$/, '');",
    replace: 'const withoutLineEnd = (value: string): string => value;',
    red: ['key-with-line-break'],
  },
  {
    rule: 'A compressed body is refused with 415 and what is accepted.',
    file: 'src/http/body.ts',
    find: "{ 'Accept-Encoding': 'identity' }",
    replace: '{}',
    red: ['compressed-/', 'compressed-/message:send'],
  },
  {
    rule: 'The id of a request comes back with all its digits.',
    file: 'src/core/json.ts',
    find: "return ID_TEXTS.get(value) ?? JSON.stringify(value['id'] ?? null);",
    replace: "return JSON.stringify(value['id'] ?? null);",
    red: ['ids-of-requests'],
  },
  {
    rule: 'The path of a proxy is removed from requests.',
    file: 'src/http/admission.ts',
    find: 'if (/^([/?]|$)/.test(rest)) request.url',
    replace: "if (rest === '-') request.url",
    red: ['prefix-kept', 'prefix-forwarded'],
  },
];
