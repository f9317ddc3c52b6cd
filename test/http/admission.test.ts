import { describe, expect, it } from '@jest/globals';
import type { IncomingMessage } from 'node:http';
import { createAdmission } from '../../src/http/admission.js';

function arriving(localAddress: string): IncomingMessage {
  const headers = { host: 'localhost' };
  return {
    headers,
    rawHeaders: ['Host', 'localhost'],
    socket: { localAddress },
  } as unknown as IncomingMessage;
}

const RULES = { trustProxy: false, allowedHosts: [], allowedOrigins: [] };

describe('a server without authentication, inside an app that listens on any address', () => {
  const admit = createAdmission({ ...RULES, isLoopbackOnly: true });

  it.each(['127.0.0.1', '127.9.8.7', '::1', '::ffff:127.0.0.1'])('admits a request to %s', (address) => {
    expect(admit(arriving(address)).origin).toBe('http://localhost');
  });

  it.each(['10.0.0.7', '::ffff:10.0.0.7', '2001:db8::1', 'fe80::1'])('refuses a request to %s', (address) => {
    expect(() => admit(arriving(address))).toThrow('loopback addresses only');
    expect(createAdmission(RULES)(arriving(address)).origin).toBe('http://localhost');
  });
});
