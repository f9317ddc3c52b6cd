import { isIP } from 'node:net';
import { isLoopback, plainHost } from '../core/addresses.js';
import { LangoError } from '../core/errors.js';
import { isAtLeast, percentDecoded } from '../core/text.js';
import { portOf, rangesOf } from './address-check.js';

/** The settings of `egress` about proxies. */
export interface ProxySettings {
  /** The proxy for https addresses, and for http addresses without `httpProxy`. */
  readonly proxy?: string | undefined;
  readonly httpProxy?: string | undefined;
  /** Hosts that are reached without a proxy, as in NO_PROXY. */
  readonly noProxy?: readonly string[] | undefined;
}

/** The proxy for a URL; undefined when its host is reached directly. */
export type ProxyFor = (url: URL) => URL | undefined;

/** The value of `egress.proxy` for no proxy at all. */
const DIRECT = 'direct';

/**
 * Makes the choice of proxies. Programs of this machine are always reached directly. Throws `invalid-config` for a proxy
 * where Node sends nothing through one: requests would leave directly.
 */
export function createProxyChoice(settings: ProxySettings, version = process.versions.node): ProxyFor {
  const [secure, plain] = proxyUrls(settings);
  // Since these versions, agents of node:http take `proxyEnv`.
  const isNewEnough =
    isAtLeast(version, '24.5') || (isAtLeast(version, '22.21') && !isAtLeast(version, '23'));
  if ((secure || plain) && !isNewEnough)
    throw new LangoError(
      'invalid-config',
      `A proxy needs Node 22.21 or 24.5, or newer; this is ${version}.`,
      {
        hint: 'Install a newer Node, or set egress.proxy: direct to send requests without the proxy.',
      },
    );
  const isDirect = exceptions(settings.noProxy ?? []);
  return (url) => {
    const chosen = url.protocol === 'https:' ? secure : plain;
    return chosen === undefined || isLoopback(url.hostname) || isDirect(url) ? undefined : chosen;
  };
}

/** Returns the proxies and what is reached without them, to show it; undefined without a proxy. */
export function describeProxies(settings: ProxySettings): string | undefined {
  const [secure, plain] = proxyUrls(settings);
  if (!secure && !plain) return undefined;
  const { noProxy = [] } = settings;
  const direct = noProxy.length === 0 ? '' : `, not for ${noProxy.join(', ')}`;
  return `https: ${secure?.host ?? 'direct'}, http: ${plain?.host ?? 'direct'}${direct}`;
}

/** The addresses of the proxies, each once. */
export function proxiesOf(settings: ProxySettings): readonly URL[] {
  const urls = proxyUrls(settings).filter((url) => url !== undefined);
  return [...new Map(urls.map((url) => [url.href, url])).values()];
}

/** The proxies for https and for http addresses. */
function proxyUrls({ proxy = DIRECT, httpProxy = proxy }: ProxySettings) {
  return [proxy, httpProxy].map((text) => {
    if (text === DIRECT) return undefined;
    const url = new URL(text.includes('://') ? text : `http://${text}`);
    // Node decodes them, and takes no lone percent sign.
    for (const part of ['username', 'password'] as const)
      url[part] = encodeURIComponent(percentDecoded(url[part]));
    return url;
  });
}

/** Entries are names, with their subdomains, addresses, ranges such as `10.0.0.0/8`, or `*`; a port narrows them. */
function exceptions(entries: readonly string[]): (url: URL) => boolean {
  const ranges = rangesOf(entries.filter((entry) => /^[0-9a-f.:]+\/\d+$/i.test(entry)));
  const names = entries.map((entry) => {
    const [, name = '', port] = /^\*?\.?(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
    return isIP(plainHost(entry)) ? { name: plainHost(entry) } : { name: plainHost(name), port };
  });
  return (url) => {
    const host = plainHost(url.hostname);
    const port = portOf(url);
    return (
      ranges(host) ||
      names.some(
        ({ name, port: only = port }) =>
          only === port && (name === '' || host === name || host.endsWith(`.${name}`)),
      )
    );
  };
}
