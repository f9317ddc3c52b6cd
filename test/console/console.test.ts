import { describe, expect, it } from '@jest/globals';
import { openConsole } from '../../src/console/console.js';

function consoleAt(host: string, enabled?: boolean) {
  const settings = {
    console: { enabled, oidc: { scope: 'openid' } },
    server: { host },
    auth: { mode: 'token', jwt: {} },
  };
  return openConsole(settings, { folder: '/pages', createFetch: () => fetch });
}

describe('the console', () => {
  it.each(['127.0.0.1', '::1', 'localhost'])('is on at %s, which only this machine reaches', (host) => {
    expect(consoleAt(host)?.claims('/console/')).toBe(true);
    expect(consoleAt(host, false)).toBeUndefined();
  });

  it.each(['0.0.0.0', '192.0.2.1', 'agents.example'])('is off at %s, unless the settings say', (host) => {
    expect(consoleAt(host)).toBeUndefined();
    expect(consoleAt(host, true)?.claims('/console/')).toBe(true);
  });
});
