import { expect, it } from '@jest/globals';
import { describeOnChain, RICH, startChain } from './local-chain.js';

describeOnChain('the local chain', () => {
  it('holds the token, and ends on request', async () => {
    const chain = await startChain();
    try {
      await chain.fund(RICH[1], 1_500_000n);
      expect(await chain.tokensOf(RICH[1])).toBe(1_500_000n);
    } finally {
      await chain.stop();
    }
    expect(() => process.kill(chain.pid, 0)).toThrow();
  });
});
