import { z } from 'zod';
import {
  HOME_MARK,
  KIB,
  MIB,
  choice,
  count,
  distinct,
  flag,
  group,
  host,
  httpUrl,
  list,
  optional,
  path,
  seconds,
  text,
  variableName,
} from '../core/fields.js';
import { ADDRESS, DECIMALS, GAS_DECIMALS, amountProblem } from '../capabilities/payments/decimal.js';

const fsTools = group('Reading and writing files of the workspace.', {
  enabled: flag(true, 'Offer the file tools.'),
  maxReadBytes: count(
    48 * KIB,
    'The most bytes that one call reads from a file. A value above `agent.limits.toolOutputBytes` has no effect.',
  ),
  maxWriteBytes: count(10 * MIB, 'The largest file that a tool writes, in bytes.'),
});

const execTools = group('Running commands.', {
  enabled: flag(true, 'Offer the command tools.'),
  sandbox: choice(
    ['auto', 'required', 'off'],
    'auto',
    '`auto`: commands run in a sandbox; without one on this machine, each command is a dangerous call and waits for approval. `required`: without a sandbox, commands are refused. `off`: no sandbox; each command is a dangerous call.',
  ),
  network: flag(false, 'Commands in the sandbox may use the network.'),
  envAllow: list(z.array(variableName()), 'Environment variables of the server that commands may see.'),
  timeoutSeconds: seconds(120, 'The longest time of one command. A call may ask for less.'),
  cpuSeconds: count(60, 'The processor time of one process, in seconds.'),
  memoryMb: count(1024, 'The memory of one process, in megabytes.'),
  processes: count(128, 'The most processes at once.'),
  outputBytes: count(
    24 * KIB,
    'The most output kept of each stream of a command, in bytes. Of longer output the middle is left out.',
  ),
});

/** A screenshot of this size, as base64, still fits into one event of the journal. */
const SCREENSHOT_MAX_BYTES = 180_000;

const browserTools = group('The browser.', {
  enabled: flag(true, 'Offer the browser tools where a Chromium is installed.'),
  executable: optional(
    path(),
    'The Chromium or Chrome to start. Default: the first one found in the usual places and on PATH.',
  ),
  sandbox: flag(
    true,
    "Use Chromium's own sandbox. `false` is a last resort, for machines that allow no user namespaces.",
  ),
  allowHosts: list(
    z.array(text()),
    'Hosts with a private or loopback address that the browser may open, as `name` or `name:port`. The hosts of `egress.allowPrivate` are allowed too.',
  ),
  searchUrl: optional(
    searchUrl(),
    'A search page, such as `https://search.example/?q={query}`. Default: none, and `browser_search` is not offered.',
  ),
  navigationSeconds: seconds(30, 'The longest time for a page to load.'),
  idleSeconds: seconds(300, 'A browser is closed after this time without use.'),
  contexts: count(4, 'The most browsers at once. Each conversation that uses the browser has its own.', {
    max: 14,
  }),
  pageBytes: count(
    64 * MIB,
    'The most bytes that one page may load from the network. Its further requests are aborted.',
  ),
  textCharacters: count(
    20_000,
    'The most characters of page text that one call returns. Further calls return the rest.',
    { max: 100_000 },
  ),
  elements: count(200, 'The most elements, or links, that one call lists.', { max: 1_000 }),
  screenshotBytes: count(
    SCREENSHOT_MAX_BYTES,
    'The largest screenshot, in bytes. A larger one is taken again as JPEG.',
    { max: SCREENSHOT_MAX_BYTES },
  ),
  screenshotHeight: count(6_000, 'The largest height of a full-page screenshot, in pixels.', { max: 20_000 }),
});

function searchUrl(): z.ZodString {
  return z.string().refine(isSearchUrl, 'must be an http:// or https:// address with {query} in it');
}

function isSearchUrl(value: string): boolean {
  const url = value.replaceAll('{query}', 'query');
  return value.includes('{query}') && /^https?:\/\/[^/@]+(\/|\?|$)/.test(url) && URL.canParse(url);
}

/** The group of a family whose only key switches its tools on or off. */
const switchOf = (description: string, offer: string) => group(description, { enabled: flag(true, offer) });

const knowledgeTools = group('Saving knowledge and learnings.', {
  enabled: flag(true, 'Offer the tools that save knowledge and learnings.'),
  maxCharacters: count(50_000, 'The longest entry, in characters.', { max: 1_000_000 }),
});

const skillsTools = group('Skills: instructions for particular tasks, each a folder with a SKILL.md.', {
  enabled: flag(true, 'Offer the skills and the tools that manage them.'),
  folders: z
    .array(path())
    .default([`${HOME_MARK}/skills`])
    .describe('Folders with skills for all users. Each skill is a subfolder with a SKILL.md.'),
  workspace: flag(
    true,
    'Also use the skills in the folder `skills` of the workspace. Agents can write there.',
  ),
});

const memoryTools = group('Facts that a user wants remembered.', {
  enabled: flag(true, 'Offer the tools that save facts, and add matching facts to prompts.'),
  promptTokens: count(500, 'The most estimated tokens of facts that one prompt gets.'),
});

export const tools = group('The tool families.', {
  fs: fsTools,
  exec: execTools,
  browser: browserTools,
  http: group('Requests to services, with secrets in their headers.', {
    enabled: flag(true, 'Offer `http_request`.'),
    timeoutSeconds: seconds(60, 'The longest time of one request with its answer.'),
    answerBytes: count(1 * MIB, 'The largest answer, in bytes. A longer one is an error.'),
  }),
  secrets: switchOf('Storing secrets and using them by reference.', 'Offer the secret tools.'),
  crypto: switchOf('Hashes, signatures and encryption.', 'Offer the cryptography tools.'),
  knowledge: knowledgeTools,
  search: switchOf(
    'Searching what was saved.',
    'Offer the tools that search knowledge, learnings and documents.',
  ),
  skills: skillsTools,
  memory: memoryTools,
});

/** A decimal number as a string, since numbers of YAML and JSON are floats. */
function amount(decimals: number): z.ZodString {
  return z.string().superRefine((text, context) => {
    const problem = amountProblem(text, decimals);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  });
}

const spendingLimits = group('Spending limits. An amount is reserved before anything is signed.', {
  perTransaction: amount(DECIMALS)
    .default('1.00')
    .describe('The largest single payment, in USDC. A quoted string.'),
  daily: amount(DECIMALS)
    .default('5.00')
    .describe('The most that one user may pay in any 24 hours, in USDC. A quoted string.'),
  gasCost: amount(GAS_DECIMALS)
    .default('0.0005')
    .describe('The most gas that one payment may cost, in ETH. A quoted string.'),
});

const x402 = group('Payment for web requests (HTTP status 402).', {
  maxAmount: amount(DECIMALS)
    .default('0.10')
    .describe('The most that one request to a paid endpoint may cost, in USDC. A quoted string.'),
  allowHosts: list(
    distinct(host(), (name) => name),
    'Hosts of paid endpoints, as `name` or `name:port`. Only these are called; an empty list allows none.',
  ),
});

export const payment = group('Payments by the vault agent. Off by default.', {
  enabled: flag(false, 'Offer the payment tools: USDC on Base.'),
  network: choice(
    ['base-sepolia', 'base'],
    'base-sepolia',
    '`base-sepolia` is a test network, whose money has no value. `base` uses real money.',
  ),
  rpcUrl: optional(httpUrl(), 'The RPC server of the chain. Default: the public one of the network.'),
  tokenAddress: optional(
    z.string().regex(ADDRESS, 'must be an address: "0x" and 40 hex digits'),
    'The contract of the token. Default: USDC on the network. Other tokens are for tests.',
  ),
  confirmations: count(2, 'Confirmations (blocks, including its own) after which a payment counts as made.', {
    max: 1_000,
  }),
  confirmSeconds: seconds(
    60,
    'How long a call waits for the confirmations. After that, the payment is tracked in the background.',
  ),
  requestSeconds: seconds(10, 'The time the RPC server has for one answer.'),
  limits: spendingLimits,
  x402,
});
