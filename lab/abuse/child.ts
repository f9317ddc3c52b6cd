import { rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { connect, createServer, LangoError, type SettingsInput } from '../../src/index.js';
import { limitHeap } from '../../src/cli/heap.js';
import { readEnv } from '../../src/config/env.js';
import { checkConfig, loadConfig, resolveConfig } from '../../src/config/load.js';
import { settingsServices, settingsContext } from '../../src/app.js';
import { mcp as capability } from '../../src/capabilities/mcp/index.js';
import { openServers } from '../../src/capabilities/mcp/opening.js';
import { silentLogger } from '../../src/core/logger.js';
import type { ToolContext } from '../../src/core/tool.js';
import { Watchdog } from '../watchdog.js';
import { addressesOf, makeUpNames } from './made-up-names.js';

/** The accepted tools of one server. */
const LARGEST_KEPT_BYTES = 500_000;
const WAITS_MS = 700;

/** The requests of the stage to its child. */
export type Question =
  | { readonly kind: 'measure' }
  | { readonly kind: 'hold'; readonly ms: number; readonly isWork: boolean }
  | { readonly kind: 'card'; readonly url: string }
  | { readonly kind: 'settings'; readonly settings: SettingsInput }
  | { readonly kind: 'reload'; readonly settings: SettingsInput }
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'mcp'; readonly url: string }
  /** `addresses`: of the host at first, and once the tools of the server are known. */
  | { readonly kind: 'rename'; readonly url: string; readonly addresses: readonly (readonly string[])[] };

/** The result of loading a card or settings. */
export interface Taken {
  readonly outcome: 'taken' | 'refused';
  /** Whether it was refused with an error of Lango. */
  readonly isTyped?: boolean;
  readonly text?: string;
}

/** A server as a child process of the stage, with a watchdog on its event loop: `child.js HOME SETTINGS`. */
const [home = '', settings = '{}'] = process.argv.slice(2);
// As `lango serve` does: without it the peak of memory depends on when V8 collects.
limitHeap();
makeUpNames();
const server = createServer({ home, settings: JSON.parse(settings) as SettingsInput });
const { origin, token } = await server.start();
const watchdog = new Watchdog();

const leave = (): void => void server.stop().finally(() => process.exit());
process.once('SIGTERM', leave);
process.once('disconnect', leave);
process.on('message', (question: Question) => {
  void answer(question).then((reply) => process.send?.(reply));
});
process.send?.({ origin, token });

async function answer(question: Question): Promise<unknown> {
  if (question.kind === 'measure') return watchdog.take();
  if (question.kind === 'hold') return hold(question.ms, question.isWork);
  try {
    if (question.kind === 'file') return await readFile(question.file);
    if (question.kind === 'mcp') return await callServer(question.url);
    if (question.kind === 'rename') return await callServer(question.url, question.addresses);
    if (question.kind === 'card') await callAgent(question.url);
    else if (question.kind === 'reload') await server.reload(question.settings);
    else createServer({ home, settings: question.settings });
    return { outcome: 'taken' };
  } catch (error) {
    return { outcome: 'refused', isTyped: error instanceof LangoError, text: String(error) };
  }
}

/** Reads a configuration file as `lango config check` does, and as a reload does. */
async function readFile(configFile: string): Promise<Taken> {
  const options = { env: readEnv({}), overrides: { home, configFile } };
  const problems = await checkConfig(options);
  if (problems.length === 0) await loadConfig(options);
  return problems.length === 0
    ? { outcome: 'taken' }
    : { outcome: 'refused', isTyped: true, text: JSON.stringify(problems) };
}

const MOST_ROUNDS = 20;

/** Lists the tools of an MCP server and calls the first, as `lango mcp` does. */
async function callServer(url: string, [first, later]: readonly (readonly string[])[] = []): Promise<Taken> {
  const { hostname } = new URL(url);
  if (first) addressesOf.set(hostname, first);
  // A definition that differs from the accepted one would be held back, and reach no agent.
  await rm(path.join(home, 'mcp', 'far.json'), { force: true });
  const settings = { mcp: { servers: { far: { url, timeoutSeconds: 1 } } } };
  const loaded = resolveConfig({ env: readEnv({}), overrides: { home }, settings });
  const services = settingsServices(loaded, silentLogger);
  const context = settingsContext(capability, { ...loaded, services, logger: silentLogger });
  const mcp = openServers(context as never);
  const far = mcp.servers.get('far')!;
  const words: unknown[] = [];
  let outcome: Taken['outcome'] = 'refused';
  try {
    // A run of an agent waits for up to 3 s while the server is reached in the background.
    await Promise.race([far.start(), setTimeout(WAITS_MS)]);
    words.push(far.finding(), far.offers);
    const [tool] = far.list();
    if (later) addressesOf.set(hostname, later);
    if (tool) {
      const call = { signal: new AbortController().signal } as ToolContext;
      let output = await tool.execute({}, call);
      // A person who replies to every question.
      for (let round = 0; output.asks && round < MOST_ROUNDS; round += 1) {
        const { questions, state } = output.asks;
        words.push(questions);
        const replies = questions.map(() => ({ decision: 'approve', text: 'yes' }) as const);
        output = await tool.execute({}, { ...call, replied: { replies, state } });
      }
      words.push(output);
      outcome = 'taken';
    }
    const kept = await stat(path.join(home, 'mcp', 'far.json')).catch(() => undefined);
    if ((kept?.size ?? 0) > LARGEST_KEPT_BYTES) throw new Error(`far.json has ${kept?.size} bytes`);
    return { outcome, isTyped: true, text: JSON.stringify(words) };
  } catch (error) {
    const isTyped = error instanceof LangoError;
    return { outcome: 'refused', isTyped, text: JSON.stringify([...words, String(error)]) };
  } finally {
    await mcp[Symbol.asyncDispose]();
  }
}

/** Reads the card at an address and sends a message to the interface in it. */
async function callAgent(url: string): Promise<void> {
  const events = connect({ url }).send(
    { parts: [{ kind: 'text', text: 'hello' }] },
    AbortSignal.timeout(5_000),
  );
  for await (const event of events) {
    if (event.type === 'end' && event.state === 'failed')
      throw new LangoError('invalid-agent-response', event.text);
  }
}

/** Blocks the event loop, with work or with a wait, which no input may do. */
function hold(ms: number, isWork: boolean): 'taken' {
  const begun = process.threadCpuUsage();
  if (!isWork) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  else
    for (let spent = 0; spent < ms * 1_000;) {
      const { user, system } = process.threadCpuUsage(begun);
      spent = user + system;
    }
  return 'taken';
}
