import { describe, expect, it } from '@jest/globals';
import { isLoopback, isPrivateTransport } from '../../src/core/addresses.js';

describe('isLoopback', () => {
  it.each(['localhost', '127.0.0.1', '127.8.9.10', '::1', '[::1]'])('is true for %s', (host) => {
    expect(isLoopback(host)).toBe(true);
  });

  it.each([
    '127.example.org',
    'localhost.example.org',
    '128.0.0.1',
    '127.0.0.1.example.org',
    '0.0.0.0',
    '[::2]',
    '',
  ])('is false for "%s"', (host) => {
    expect(isLoopback(host)).toBe(false);
  });
});

describe('isPrivateTransport', () => {
  it('is true over TLS and on this machine', () => {
    const urls = ['https://a.example', 'http://127.0.0.1:1', 'http://LOCALHOST', 'http://a.example'];
    expect(urls.map(isPrivateTransport)).toEqual([true, true, true, false]);
  });
});
