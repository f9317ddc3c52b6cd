import { causesOf, errorText, isLangoError, LangoError } from '../../core/errors.js';
import { oneLine } from '../../core/text.js';
import { DECIMALS } from './amount.js';
import type { Network } from './networks.js';

export type Hex = `0x${string}`;

/** The network and the token that an offer must name to be payable, with the EIP-712 domain of the token's signatures. */
export type PayableTerms = Awaited<ReturnType<Connection['terms']>>;
/** A receipt with the transfers of the token in its transaction. */
export type Receipt = NonNullable<Awaited<ReturnType<Connection['receipt']>>>;

const TOKEN_ABI = [
  'function balanceOf(address) view returns (uint256)',
  'function decimals() view returns (uint8)',
  'function name() view returns (string)',
  'function version() view returns (string)',
  'function transfer(address to, uint256 value) returns (bool)',
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
] as const;

/**
 * Queries a chain, and the token on it, through an RPC server. Loads and requests nothing before the first query, which
 * checks that the server is on the configured chain and that the token is a contract with six decimal places; otherwise
 * every query rejects with `invalid-config`. Other failures are `unavailable` or `timeout`, and the next query tries again.
 */
export class Connection {
  readonly network: Network;
  readonly #open: () => Promise<Opened>;

  /** `send` is the egress fetch. It limits the time and the size of each request. */
  constructor(network: Network, send: typeof fetch, requestMs: number) {
    let opening: Promise<Opened> | undefined;
    this.network = network;
    this.#open = () =>
      (opening ??= open(network, send, requestMs).catch((error: unknown) => {
        opening = undefined;
        throw error;
      }));
  }

  /** Returns the checksummed form of an address (EIP-55). Rejects with `invalid-input` for a wrong checksum. */
  async checksum(address: string): Promise<Hex> {
    const { getAddress, isAddress } = await loadViem();
    if (isAddress(address)) return getAddress(address);
    const text = `to: the checksum of ${address} is wrong, so the address contains a typing error.`;
    throw new LangoError('invalid-input', text, { hint: 'Copy the address again from its source.' });
  }

  token(): Promise<Hex> {
    return this.#query(async ({ token }) => token);
  }

  terms() {
    return this.#query(async ({ client, abi, token }) => {
      const [name, version] = await Promise.all([
        client.readContract({ abi, address: token, functionName: 'name' }),
        client.readContract({ abi, address: token, functionName: 'version' }),
      ]);
      return { network: this.network, token, domain: { name, version } };
    });
  }

  balances(owner: Hex): Promise<{ readonly tokens: bigint; readonly gas: bigint }> {
    return this.#query(async ({ client, abi, token }) => {
      const [tokens, gas] = await Promise.all([
        client.readContract({ abi, address: token, functionName: 'balanceOf', args: [owner] }),
        client.getBalance({ address: owner }),
      ]);
      return { tokens, gas };
    });
  }

  /** Number of transactions that the wallet has sent: those in blocks, or including pending ones. */
  transactionCount(owner: Hex, blockTag: 'latest' | 'pending'): Promise<number> {
    return this.#query(({ client }) => client.getTransactionCount({ address: owner, blockTag }));
  }

  fees(): Promise<{ readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }> {
    return this.#query(({ client }) => client.estimateFeesPerGas());
  }

  async transferData(to: Hex, amount: bigint): Promise<Hex> {
    const { encodeFunctionData, parseAbi } = await loadViem();
    return encodeFunctionData({ abi: parseAbi(TOKEN_ABI), functionName: 'transfer', args: [to, amount] });
  }

  /** Estimates the gas of a transfer. Rejects like any call when the chain reports that it would be reverted. */
  estimateGas(from: Hex, data: Hex): Promise<bigint> {
    return this.#query(({ client, token }) => client.estimateGas({ account: from, to: token, data }));
  }

  /** Sends a signed transaction. Rejects with the client's own error: the caller decides what a refusal means. */
  async sendRaw(signed: Hex): Promise<void> {
    const { client } = await this.#open();
    await client.sendRawTransaction({ serializedTransaction: signed });
  }

  /** The receipt of a transaction; undefined while no block contains it. */
  receipt(hash: Hex) {
    return this.#query(async ({ client, abi, token, viem }) => {
      const receipt = await client.getTransactionReceipt({ hash }).catch((error: unknown) => {
        if (isCausedBy(error, 'TransactionReceiptNotFoundError')) return undefined;
        throw error;
      });
      if (!receipt) return undefined;
      const logs = receipt.logs.filter(({ address }) => viem.isAddressEqual(address, token));
      const transfers = viem.parseEventLogs({ abi, logs, eventName: 'Transfer' }).map(({ args }) => args);
      return { isSuccess: receipt.status === 'success', block: receipt.blockNumber, transfers };
    });
  }

  /** Resolves with the number and the time (Unix seconds) of the newest block. */
  head(): Promise<{ readonly number: bigint; readonly seconds: bigint }> {
    return this.#query(async ({ client }) => {
      const { number, timestamp } = await client.getBlock({ blockTag: 'latest' });
      return { number, seconds: timestamp };
    });
  }

  /** Whether an authorization (EIP-3009) was redeemed. */
  isRedeemed(authorizer: Hex, nonce: Hex): Promise<boolean> {
    const call = { functionName: 'authorizationState', args: [authorizer, nonce] } as const;
    return this.#query(({ client, abi, token }) => client.readContract({ abi, address: token, ...call }));
  }

  async #query<Result>(ask: (opened: Opened) => Promise<Result>): Promise<Result> {
    try {
      return await ask(await this.#open());
    } catch (error) {
      throw isLangoError(error, 'invalid-config') ? error : rpcFailure(error, this.network);
    }
  }
}

type Opened = Awaited<ReturnType<typeof open>>;

async function open(network: Network, send: typeof fetch, requestMs: number) {
  const viem = await loadViem();
  const client = viem.createPublicClient({
    transport: viem.http(network.rpcUrl, {
      ...{ fetchFn: send, timeout: requestMs + 1_000, retryCount: 1, retryDelay: 200 },
    }),
  });
  const token = viem.getAddress(network.token);
  const abi = viem.parseAbi(TOKEN_ABI);
  const chainId = await client.getChainId();
  if (chainId !== network.chainId) {
    const text = `The RPC server is on chain ${chainId}, but ${network.title} is configured.`;
    const hint = 'Correct payment.rpcUrl or payment.network. Nothing was sent.';
    throw new LangoError('invalid-config', text, { hint });
  }
  const read = client.readContract({ abi, address: token, functionName: 'decimals' });
  const decimals = await read.catch(withoutFunction);
  if (decimals !== DECIMALS) {
    const what = decimals === undefined ? 'no token contract' : `a token with ${decimals} decimal places`;
    const text = `There is ${what} at ${token} on ${network.title}, but a token with ${DECIMALS} decimal places is required.`;
    const hint = 'Correct payment.tokenAddress, payment.network or payment.rpcUrl. Nothing was sent.';
    throw new LangoError('invalid-config', text, { hint });
  }
  return { viem, client, token, abi };
}

/** Returns undefined when the contract has no such function, which is not a failure of the server. */
function withoutFunction(error: unknown): undefined {
  if (isCausedBy(error, 'ContractFunctionRevertedError', 'ContractFunctionZeroDataError')) return undefined;
  throw error;
}

/** Loads viem on the first payment, because it is large. */
export function loadViem() {
  return import('viem');
}

const MAX_REMARK_CHARACTERS = 160;

/**
 * Turns any failure of an RPC call into a `LangoError` that does not name the server's address, which may contain a
 * key. The code is `unavailable` or `timeout`, both retryable.
 */
function rpcFailure(error: unknown, network: Network): LangoError {
  const known = causesOf(error).find((cause) => isLangoError(cause));
  const isTimeout = known ? known.code === 'timeout' : isCausedBy(error, 'TimeoutError');
  const remark = rpcRemark(error);
  let what = remark === undefined ? 'sent an invalid response.' : `responded with an error: ${remark}`;
  if (isTimeout) what = 'did not respond in time.';
  if (known) what = `did not respond: ${known.message}`;
  return new LangoError(isTimeout ? 'timeout' : 'unavailable', `The RPC server of ${network.title} ${what}`, {
    hint: known?.hint ?? 'Nothing was lost. Try again later, or set another server with payment.rpcUrl.',
    cause: error,
    retryable: true,
  });
}

/** The message of a JSON-RPC error, shortened; undefined when the server reported none. */
export function rpcRemark(error: unknown): string | undefined {
  for (const cause of causesOf(error)) {
    const { code, details } = cause as { readonly code?: unknown; readonly details?: unknown };
    if (nameOf(cause) === 'RpcRequestError' && typeof code === 'number') {
      const remark = typeof details === 'string' ? details : errorText(cause).split('\n')[0]!;
      return oneLine(remark).slice(0, MAX_REMARK_CHARACTERS);
    }
  }
  return undefined;
}

/** Whether one of the causes has the name of one of viem's errors. */
function isCausedBy(error: unknown, ...names: readonly string[]): boolean {
  return causesOf(error).some((cause) => names.includes(nameOf(cause)));
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : '';
}
