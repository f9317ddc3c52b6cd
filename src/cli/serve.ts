import { once } from 'node:events';
import { createApp, type AppAddress, type ReadConfig } from '../app.js';
import type { Config } from '../config/config.js';
import { readEnv } from '../config/env.js';
import { loadConfig } from '../config/load.js';
import { loadToken, tokenPath } from '../config/node-credentials.js';
import { packageVersion } from '../config/package-root.js';
import { secretValues } from '../config/secrets.js';
import { showsConsole } from '../core/addresses.js';
import { CARD_PATH } from '../core/card.js';
import { errorText, isLangoError } from '../core/errors.js';
import { createLogger } from '../logging.js';
import { overridesOf, type Call, type FolderFlags } from './connection.js';
import { EXIT, onHangup, onInterrupt } from '../terminal/exit.js';
import { limitHeap, releaseIdleMemory } from './heap.js';
import { optimize } from './optimizing.js';
import { jsonLine, shellWord } from '../terminal/safe-text.js';
import type { Terminal } from '../terminal/terminal.js';

interface ServeFlags extends FolderFlags {
  readonly host?: string;
  readonly port?: number;
  readonly json?: boolean;
  readonly acceptDamage?: boolean;
}

const EXAMPLE = 'Write "hello" into notes.md and then read notes.md';
/** The credential that callers need, by authentication mode, when the node has no token of its own. */
const ACCESS_TEXT = {
  token: '',
  jwt: 'of the issuer in auth.jwt.issuer (auth.mode: jwt)',
  mtls: 'none; clients need a certificate (auth.mode: mtls)',
  none: 'none is needed (auth.mode: none)',
} as const;
const CONSOLE_OFF = 'off; console.enabled: true in the configuration switches it on';
const OFFLINE_ADVICE =
  'a small built-in model of fixed rules. Set ANTHROPIC_API_KEY, OPENAI_API_KEY or model.provider for a real one';

/** `lango serve`: runs until SIGINT or SIGTERM. */
export async function serve({ flags, env, terminal }: Call<ServeFlags>): Promise<number> {
  const { host, port } = flags;
  const overrides = { ...overridesOf(flags), host, port };
  const loaded = await loadConfig({ env, overrides });
  const { config, secrets } = loaded;
  const hidden = new Set(secretValues(secrets));
  const logger = createLogger({ ...config.logging, color: terminal.notePaint.isColored, secrets: hidden });
  const stopping = new AbortController();
  using _interrupt = onInterrupt(() => stopping.abort());
  // A later reading must fail when the file has been deleted, and not take the defaults.
  const again = { env, overrides: { ...overrides, configFile: config.file } };
  const read: ReadConfig = (added) => loadConfig({ ...again, added });
  const { signal: interrupted } = stopping;
  const app = createApp({ ...loaded, read, acceptDamage: flags.acceptDamage, interrupted, logger, hidden });
  const address = await app.start();
  using _reload = onHangup(() =>
    app.reload(read).catch((error: unknown) => {
      const hint = isLangoError(error) ? error.hint : undefined;
      const text = 'the configuration was not reloaded: the server keeps the present one';
      logger.error(text, { error: errorText(error), hint });
    }),
  );

  // Clients on this machine find the token of the data folder without a flag.
  const isKept =
    address.token !== undefined && address.token === (await loadToken(config.home).catch(() => undefined));
  if (flags.json) terminal.print(jsonLine(facts(address, config, isKept)));
  else greeting(address, config, { terminal, isKept }).forEach(terminal.print);

  optimize();
  limitHeap();
  releaseIdleMemory();
  if (!stopping.signal.aborted) await once(stopping.signal, 'abort');
  logger.info('stopping');
  await app.stop();
  return EXIT.ok;
}

/** Without the token: what a program prints is kept in logs. */
function facts(address: AppAddress, config: Config, isKept: boolean) {
  const { home } = config;
  const { origin, host, port, grpcPort = null, model, agents, root } = address;
  const [card, tokenFile] = [origin + CARD_PATH, isKept ? tokenPath(home) : null];
  const { pid } = process;
  const console = showsConsole(config) ? `${origin}/console/` : null;
  return { ready: origin, host, port, grpcPort, card, console, tokenFile, home, pid, model, root, agents };
}

/** A token is shown on a terminal only: other output is kept in logs. `isKept`: it is that of the data folder. */
function greeting(
  address: AppAddress,
  config: Config,
  { terminal: { isLive, paint, typed }, isKept }: { terminal: Terminal; isKept: boolean },
): readonly string[] {
  const { origin, grpcPort, token, model, agents, root } = address;
  const row = (name: string, value: string): string => `  ${paint.dim(name.padEnd(7))} ${value}`;
  const place = isKept ? `in ${tokenPath(config.home)}` : 'that of auth.token or LANGO_TOKEN';
  const isGiven = token === undefined ? config.auth.mode === 'jwt' : !isKept;
  const access = isGiven ? `LANGO_TOKEN=${isLive ? (token ?? 'TOKEN') : 'TOKEN'} ` : '';
  const isElsewhere = access === '' && config.home !== readEnv({}).home;
  const home = isElsewhere ? ` --home ${shellWord(config.home)}` : '';
  return [
    paint.bold(`Lango ${packageVersion()}`),
    row('console', showsConsole(config) ? `${origin}/console/` : CONSOLE_OFF),
    row('card', origin + CARD_PATH),
    ...(grpcPort === undefined ? [] : [row('gRPC', `${new URL(origin).hostname}:${grpcPort}`)]),
    row('token', token === undefined ? ACCESS_TEXT[config.auth.mode] : isLive ? token : place),
    row('data', config.home),
    row('pid', String(process.pid)),
    row('model', `${model} (${config.model.reason})${model === 'offline' ? `: ${OFFLINE_ADVICE}` : ''}`),
    ...otherModels(config).map((text) => row('', text)),
    row('agents', [root, ...agents.filter((name) => name !== root)].join(', ')),
    'Try it from another terminal:',
    `  ${access}${typed('lango send')} --url ${origin}${home} ${shellWord(EXAMPLE)}`,
    `ready ${origin}`,
  ];
}

/** The models besides that of all agents. */
function otherModels({ model, agent }: Config): readonly string[] {
  const named = ({ provider, name }: (typeof model.fallbacks)[number]): string =>
    [provider, name].filter(Boolean).join('/');
  const fallbacks = model.fallbacks.map(named).join(', ');
  const own = Object.entries(agent.models).map(([name, choice]) => `${name}: ${named(choice)}`);
  return [...(fallbacks ? [`fallbacks: ${fallbacks}`] : []), ...own];
}
