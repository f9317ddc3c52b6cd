import type { Tool } from '../../src/core/tool.js';
import { createBrowser } from '../../src/capabilities/browser/browser.js';
import { createCryptoTools } from '../../src/capabilities/secrets/crypto/index.js';
import { createSecretsTools } from '../../src/capabilities/secrets/secrets-tools.js';
import { silentLogger } from '../../src/core/logger.js';
import { openTill } from '../capabilities/payments/setup.js';
import { openTestVault } from './open-vault.js';
import { PARSERS } from './parsers.js';

export interface FourFamilies {
  readonly tools: readonly Tool[];
  close(): Promise<void>;
}

/**
 * Every tool of the vault's three families and of the browser, created as the server creates them. No test calls one.
 */
export async function openFourFamilies(): Promise<FourFamilies> {
  const vault = await openTestVault();
  const till = openTill({ url: 'http://127.0.0.1:1', token: '0x036CbD53842c5426634e7929541eC2318f3dCF7e' });
  const browser = createBrowser({
    chromium: { executable: '/nowhere', sandbox: true, setpriv: undefined },
    limits: {
      navigationSeconds: 10,
      idleSeconds: 10,
      contexts: 1,
      pageBytes: 1_000,
      textCharacters: 1_000,
      elements: 10,
      screenshotBytes: 1_000,
      screenshotHeight: 1_000,
    },
    logger: silentLogger,
    parsers: PARSERS,
    searchUrl: 'https://example.com/?q={query}',
    openProxy: () => Promise.reject(new Error('nothing is opened here')),
  });
  return {
    tools: [
      ...createSecretsTools(vault.secrets),
      ...createCryptoTools(vault.vault, vault.secrets),
      ...till.payments.tools,
      ...browser.tools,
    ],
    async close() {
      await till.close();
      await vault.close();
      await browser.close();
    },
  };
}
