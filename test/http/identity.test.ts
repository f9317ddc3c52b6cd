import { describe, expect, it } from '@jest/globals';
import type { AuditEntry, Credentials } from '../../src/core/identity.js';
import { isLangoError } from '../../src/core/errors.js';
import { createAuthenticator } from '../../src/http/identity.js';
import type { LogLine } from './running-host.js';
import { recordingLogger } from './running-host.js';

function bearing(authorization?: string, address = 'a'): Credentials {
  return { authorization, address, certificate: () => undefined };
}

describe('createAuthenticator', () => {
  it('assigns data to the given owner; without one to default in mode token, and to local in mode none', async () => {
    const logger = recordingLogger([]);
    const ask = (owner?: string) =>
      createAuthenticator({ mode: 'token', token: 't', logger, ...(owner ? { owner } : {}) });
    expect((await ask().authenticate(bearing('Bearer t'))).owner).toBe('default');
    expect((await ask('mine').authenticate(bearing('bearer t'))).owner).toBe('mine');
    const open = createAuthenticator({ mode: 'none', logger });
    expect((await open.authenticate(bearing())).owner).toBe('local');
  });

  it('accepts the token and nothing similar, after any earlier attempt', async () => {
    const token = 'geheim-42';
    const authenticator = createAuthenticator({ mode: 'token', token, logger: recordingLogger([]) });
    const ask = (given: string) => codeOf(authenticator.authenticate(bearing(`Bearer ${given}`)));
    for (const wrong of ['geheim-4', 'geheim-422', 'geheim-43', 'Geheim-42', 'x', 'ǧeheim-42', 'geheim-4²']) {
      expect([wrong, await ask(token), await ask(wrong)]).toEqual([wrong, 'none', 'unauthenticated']);
    }
  });

  it('needs a token in mode token, and an issuer in mode jwt', () => {
    const logger = recordingLogger([]);
    expect(() => createAuthenticator({ mode: 'token', token: '', logger })).toThrow(/missing/);
    expect(() => createAuthenticator({ mode: 'jwt', logger })).toThrow(/missing/);
  });

  it('logs and audits failures without the token, and responds "too many" to an address after twenty', async () => {
    const lines: LogLine[] = [];
    const entries: AuditEntry[] = [];
    const authenticator = createAuthenticator({
      mode: 'token',
      token: 't',
      logger: recordingLogger(lines),
      audit: (entry) => void entries.push(entry),
    });
    const ask = (authorization: string, address: string) =>
      authenticator.authenticate(bearing(authorization, address));
    const codes: string[] = [];
    for (let i = 0; i < 20; i += 1) codes.push(await codeOf(ask('Bearer guess-me', '10.0.0.1')));
    expect(codes.every((code) => code === 'unauthenticated')).toBe(true);
    expect(await codeOf(ask('Bearer guess-me', '10.0.0.1'))).toBe('too-many');
    expect([lines.length, entries.length]).toEqual([20, 20]);
    expect(JSON.stringify([lines, entries])).not.toContain('guess-me');
    expect(entries[0]).toEqual({
      operation: 'Authenticate',
      outcome: 'unauthenticated',
      from: '10.0.0.1',
      reason: 'The token is wrong.',
    });
    expect(await codeOf(ask('Bearer guess-me', '10.0.0.2'))).toBe('unauthenticated');
    expect((await ask('Bearer t', '10.0.0.1')).owner).toBe('default');
  });

  it('delays the right token too, but not on a connection that was accepted before', async () => {
    const authenticator = createAuthenticator({ mode: 'token', token: 't', logger: recordingLogger([]) });
    const ask = (token: string, address: string, connection: object) =>
      codeOf(authenticator.authenticate({ ...bearing(`Bearer ${token}`, address), connection }));
    const [accepted, tainted] = [{}, {}];
    expect([await ask('t', '2001:db8::1', accepted), await ask('t', '2001:db8::1', tainted)]).toEqual([
      'none',
      'none',
    ]);
    // The addresses of one IPv6 network count as one.
    for (let i = 0; i < 20; i += 1) await ask('wrong', `2001:db8::${i}`, tainted);
    const order: string[] = [];
    const waiting = ['accepted before, then failed', 'new'].map(async (name, at) => {
      order.push(`${await ask('t', '2001:db8:0:0:f::1', at === 0 ? tainted : {})}: ${name}`);
    });
    const guesses = Array.from({ length: 40 }, () => ask('wrong', '2001:db8::2', {}));
    expect(await ask('t', '2001:db8::1', accepted)).toBe('none');
    expect(await ask('t', '2001:db8:0:1::1', {})).toBe('none');
    // Ten of the guesses are refused at once: thirty-two attempts may wait.
    expect(await Promise.race([guesses[39], Promise.all(waiting)])).toBe('too-many');
    expect(order).toEqual([]);
    await Promise.all([...waiting, ...guesses]);
    expect(order.sort()).toEqual(['none: accepted before, then failed', 'none: new']);
  });

  it('limits the requests of one caller, and of one address without a caller', async () => {
    const rate = { perSecond: 0.001, burst: 2 };
    const entries: AuditEntry[] = [];
    const authenticator = createAuthenticator({
      mode: 'token',
      token: 't',
      logger: recordingLogger([]),
      rates: { caller: rate, address: rate },
      audit: (entry) => void entries.push(entry),
    });
    const ask = () => codeOf(authenticator.authenticate(bearing('Bearer t')));
    expect([await ask(), await ask(), await ask()]).toEqual(['none', 'none', 'too-many']);
    expect(entries.map(({ outcome, caller }) => [outcome, caller?.owner])).toEqual([['too-many', 'default']]);
    const knock = (address: string) => codeOf((async () => authenticator.admitAnyone(address))());
    expect([await knock('x'), await knock('x'), await knock('x')]).toEqual(['none', 'none', 'too-many']);
    expect(await knock('y')).toBe('none');
  });
});

async function codeOf(call: unknown): Promise<string> {
  try {
    await call;
  } catch (error) {
    return isLangoError(error) ? error.code : 'other';
  }
  return 'none';
}
