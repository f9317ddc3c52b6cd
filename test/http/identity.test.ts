import { describe, expect, it } from '@jest/globals';
import type { IncomingMessage } from 'node:http';
import { isLangoError } from '../../src/core/errors.js';
import { createAuthenticator } from '../../src/http/identity.js';
import type { LogLine } from './running-host.js';
import { recordingLogger } from './running-host.js';

function bearing(authorization?: string): IncomingMessage {
  return { headers: { authorization } } as IncomingMessage;
}

describe('createAuthenticator', () => {
  it('files data under the given owner, "default" with a token and "local" without', () => {
    const logger = recordingLogger([]);
    const ask = (owner?: string) =>
      createAuthenticator({ mode: 'token', token: 't', logger, ...(owner ? { owner } : {}) });
    expect(ask().authenticate(bearing('Bearer t'), 'a').owner).toBe('default');
    expect(ask('mine').authenticate(bearing('bearer t'), 'a').owner).toBe('mine');
    expect(createAuthenticator({ mode: 'none', logger }).authenticate(bearing(), 'a').owner).toBe('local');
  });

  it('needs a token in mode token', () => {
    expect(() => createAuthenticator({ mode: 'token', token: '', logger: recordingLogger([]) })).toThrow(
      /missing/,
    );
  });

  it('logs failures without the token, and says "too many" to an address after twenty', () => {
    const lines: LogLine[] = [];
    const { authenticate } = bound(lines);
    const codes = Array.from({ length: 25 }, () =>
      codeOf(() => authenticate(bearing('Bearer guess-me'), '10.0.0.1')),
    );
    expect(codes.slice(0, 20).every((code) => code === 'unauthenticated')).toBe(true);
    expect(codes.slice(20).every((code) => code === 'too-many')).toBe(true);
    expect(lines).toHaveLength(20);
    expect(JSON.stringify(lines)).not.toContain('guess-me');
    expect(codeOf(() => authenticate(bearing('Bearer guess-me'), '10.0.0.2'))).toBe('unauthenticated');
    expect(authenticate(bearing('Bearer t'), '10.0.0.1').owner).toBe('default');
  });
});

function bound(lines: LogLine[]) {
  const authenticator = createAuthenticator({ mode: 'token', token: 't', logger: recordingLogger(lines) });
  return { authenticate: authenticator.authenticate.bind(authenticator) };
}

function codeOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    return isLangoError(error) ? error.code : 'other';
  }
  return 'none';
}
