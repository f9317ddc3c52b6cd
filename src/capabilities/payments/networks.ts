/** A chain on which USDC is sent. */
export type Network = ReturnType<typeof networkOf>;

/**
 * The titles are for people, and tell test networks from real money. `caip` is the CAIP-2 name, which x402 uses. The token
 * addresses are published by its issuer, Circle.
 */
const KNOWN = {
  'base-sepolia': {
    title: 'Base Sepolia (chain 84532, test network)',
    chainId: 84_532,
    caip: 'eip155:84532',
    token: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
    rpcUrl: 'https://sepolia.base.org',
  },
  base: {
    title: 'Base (chain 8453, main network: real money)',
    chainId: 8_453,
    caip: 'eip155:8453',
    token: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    rpcUrl: 'https://mainnet.base.org',
  },
} as const;

/** The network of the settings `payment`, with the address of another server or token where they name one. */
export function networkOf(settings: {
  readonly network: keyof typeof KNOWN;
  readonly rpcUrl?: string | undefined;
  readonly tokenAddress?: string | undefined;
}) {
  const known = KNOWN[settings.network];
  const { tokenAddress: token = known.token, rpcUrl = known.rpcUrl } = settings;
  return { ...known, token, rpcUrl };
}
