type NetworkName = 'base-sepolia' | 'base';

/** A chain on which USDC is sent. */
export interface Network {
  /**
   * The name for people, which distinguishes test networks from real money: "Base Sepolia (chain 84532, test network)".
   */
  readonly title: string;
  readonly chainId: number;
  /** The CAIP-2 name, which x402 uses. */
  readonly caip: `${string}:${string}`;
  /** Address of the token's contract. */
  readonly token: string;
  readonly rpcUrl: string;
}

interface Known {
  readonly name: string;
  readonly chainId: number;
  readonly token: string;
  readonly rpcUrl: string;
}

/** The token addresses are published by its issuer, Circle. */
const KNOWN: Readonly<Record<NetworkName, Known>> = {
  'base-sepolia': {
    name: 'test network',
    chainId: 84_532,
    token: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
    rpcUrl: 'https://sepolia.base.org',
  },
  base: {
    name: 'main network: real money',
    chainId: 8_453,
    token: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    rpcUrl: 'https://mainnet.base.org',
  },
};

const TITLES: Readonly<Record<NetworkName, string>> = { 'base-sepolia': 'Base Sepolia', base: 'Base' };

export interface NetworkChoice {
  readonly name: NetworkName;
  readonly rpcUrl?: string | undefined;
  readonly token?: string | undefined;
}

export function networkOf(choice: NetworkChoice): Network {
  const { name, chainId, token, rpcUrl } = KNOWN[choice.name];
  return {
    title: `${TITLES[choice.name]} (chain ${chainId}, ${name})`,
    chainId,
    caip: `eip155:${chainId}`,
    token: choice.token ?? token,
    rpcUrl: choice.rpcUrl ?? rpcUrl,
  };
}
