import { z } from 'zod';
import { HOME_MARK, count, path, seconds, text, variableName, KIB, MIB } from './fields.js';

const fsTools = z
  .strictObject({
    enabled: z.boolean().default(true).describe('Offer the file tools.'),
    maxReadBytes: count()
      .default(48 * KIB)
      .describe(
        'The most bytes that one call reads from a file. A value above `agent.limits.toolOutputBytes` has no effect.',
      ),
    maxWriteBytes: count()
      .default(10 * MIB)
      .describe('The largest file that a tool writes, in bytes.'),
  })
  .prefault({})
  .describe('Reading and writing files of the workspace.');

const execTools = z
  .strictObject({
    enabled: z.boolean().default(true).describe('Offer the command tools.'),
    sandbox: z
      .enum(['auto', 'required', 'off'])
      .default('auto')
      .describe(
        '`auto`: commands run in a sandbox; without one on this machine, each command is a dangerous call and waits for approval. `required`: without a sandbox, commands are refused. `off`: no sandbox; each command is a dangerous call.',
      ),
    network: z.boolean().default(false).describe('Commands in the sandbox may use the network.'),
    envAllow: z
      .array(variableName())
      .default([])
      .describe('Environment variables of the server that commands may see.'),
    timeoutSeconds: seconds()
      .default(120)
      .describe('The longest time of one command. A call may ask for less.'),
    cpuSeconds: count().default(60).describe('The processor time of one process, in seconds.'),
    memoryMb: count().default(1024).describe('The memory of one process, in megabytes.'),
    processes: count().default(128).describe('The most processes at once.'),
    outputBytes: count()
      .default(24 * KIB)
      .describe(
        'The most output kept of each stream of a command, in bytes. Of longer output the middle is left out.',
      ),
  })
  .prefault({})
  .describe('Running commands.');

/** A screenshot of this size, as base64, still fits into one event of the journal. */
const SCREENSHOT_MAX_BYTES = 180_000;

const browserTools = z
  .strictObject({
    enabled: z.boolean().default(true).describe('Offer the browser tools where a Chromium is installed.'),
    executable: path()
      .optional()
      .describe(
        'The Chromium or Chrome to start. Default: the first one found in the usual places and on PATH.',
      ),
    sandbox: z
      .boolean()
      .default(true)
      .describe(
        "Use Chromium's own sandbox. `false` is a last resort, for machines that allow no user namespaces.",
      ),
    allowHosts: z
      .array(text())
      .default([])
      .describe(
        'Hosts with a private or loopback address that the browser may open, as `name` or `name:port`. The hosts of `egress.allowPrivate` are allowed too.',
      ),
    searchUrl: searchUrl()
      .optional()
      .describe(
        'A search page, such as `https://search.example/?q={query}`. Default: none, and `browser_search` is not offered.',
      ),
    navigationSeconds: seconds().default(30).describe('The longest time for a page to load.'),
    idleSeconds: seconds().default(300).describe('A browser is closed after this time without use.'),
    contexts: count(14)
      .default(4)
      .describe('The most browsers at once. Each conversation that uses the browser has its own.'),
    pageBytes: count()
      .default(64 * MIB)
      .describe('The most bytes that one page may load from the network. Its further requests are aborted.'),
    textCharacters: count(100_000)
      .default(20_000)
      .describe('The most characters of page text that one call returns. Further calls return the rest.'),
    elements: count(1_000).default(200).describe('The most elements, or links, that one call lists.'),
    screenshotBytes: count(SCREENSHOT_MAX_BYTES)
      .default(SCREENSHOT_MAX_BYTES)
      .describe('The largest screenshot, in bytes. A larger one is taken again as JPEG.'),
    screenshotHeight: count(20_000)
      .default(6_000)
      .describe('The largest height of a full-page screenshot, in pixels.'),
  })
  .prefault({})
  .describe('The browser.');

function searchUrl(): z.ZodString {
  return z.string().refine(isSearchUrl, 'must be an http:// or https:// address with {query} in it');
}

function isSearchUrl(value: string): boolean {
  const url = value.replaceAll('{query}', 'query');
  return value.includes('{query}') && /^https?:\/\/[^/@]+(\/|\?|$)/.test(url) && URL.canParse(url);
}

/** A family with one key: whether its tools are offered. */
const switchOf = (description: string, offer: string) =>
  z
    .strictObject({ enabled: z.boolean().default(true).describe(offer) })
    .prefault({})
    .describe(description);

const knowledgeTools = z
  .strictObject({
    enabled: z.boolean().default(true).describe('Offer the tools that save knowledge and learnings.'),
    maxCharacters: count(1_000_000).default(50_000).describe('The longest entry, in characters.'),
  })
  .prefault({})
  .describe('Saving knowledge and learnings.');

const skillsTools = z
  .strictObject({
    enabled: z.boolean().default(true).describe('Offer the skills and the tools that manage them.'),
    folders: z
      .array(path())
      .default([`${HOME_MARK}/skills`])
      .describe('Folders with skills for all users. Each skill is a subfolder with a SKILL.md.'),
    workspace: z
      .boolean()
      .default(true)
      .describe('Also use the skills in the folder `skills` of the workspace. Agents can write there.'),
  })
  .prefault({})
  .describe('Skills: instructions for particular tasks, each a folder with a SKILL.md.');

const memoryTools = z
  .strictObject({
    enabled: z
      .boolean()
      .default(true)
      .describe('Offer the tools that save facts, and add matching facts to prompts.'),
    promptTokens: count().default(500).describe('The most estimated tokens of facts that one prompt gets.'),
  })
  .prefault({})
  .describe('Facts that a user wants remembered.');

export const tools = z
  .strictObject({
    fs: fsTools,
    exec: execTools,
    browser: browserTools,
    secrets: switchOf('Storing secrets and using them by reference.', 'Offer the secret tools.'),
    crypto: switchOf('Hashes, signatures and encryption.', 'Offer the cryptography tools.'),
    knowledge: knowledgeTools,
    search: switchOf(
      'Searching what was saved.',
      'Offer the tools that search knowledge, learnings and documents.',
    ),
    skills: skillsTools,
    memory: memoryTools,
  })
  .prefault({})
  .describe('The tool families.');
