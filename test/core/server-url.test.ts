import { expect, it } from '@jest/globals';
import { serverUrl } from '../../src/core/card.js';

it.each([
  ['http://h:1', 'http://h:1/x'],
  ['http://h:1/agents/operator', 'http://h:1/x'],
  ['http://h:1/.well-known/agent-card.json', 'http://h:1/x'],
  ['http://h/mounted/', 'http://h/mounted/x'],
  ['http://h/agents/', 'http://h/agents/x'],
  ['http://h/agents/agents/operator/.well-known/agent-card.json?q#f', 'http://h/agents/x'],
  ['http://h//evil.example', 'http://h//evil.example/x'],
])('serverUrl finds the root of the server from %s', (address, expected) => {
  expect(serverUrl(address, '/x').href).toBe(expected);
});
