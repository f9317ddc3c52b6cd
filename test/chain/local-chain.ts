import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe } from '@jest/globals';
import { encodeFunctionData, parseAbi } from 'viem';
import { freePort } from '../support/free-port.js';
import { usdCoinBytecode } from './compile.js';

const ANVIL = path.resolve('node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil');
const START_MS = 100_000;

const TOKEN_ABI = parseAbi([
  'function mint(address to, uint256 value)',
  'function setPaused(bool on)',
  'function setQuiet(bool on)',
]);
const BALANCE_OF = parseAbi(['function balanceOf(address) view returns (uint256)']);

/** Keys that anvil always has, each with gas; the first deploys and mints. */
export const RICH = [
  '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
] as const;
export const RICH_KEYS = [
  '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
  '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
  '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a',
] as const;

/** A chain on this machine with the token on it. */
export interface LocalChain {
  readonly url: string;
  readonly token: `0x${string}`;
  readonly pid: number;
  rpc(method: string, ...params: readonly unknown[]): Promise<unknown>;
  /** Gives a wallet tokens (in the smallest unit), and gas by default. */
  fund(address: string, tokens: bigint, gas?: bigint): Promise<void>;
  tokensOf(address: string): Promise<bigint>;
  pause(on: boolean): Promise<void>;
  quiet(on: boolean): Promise<void>;
  stop(): Promise<void>;
}

/** `describe` where the chain program is installed; elsewhere it reports the skipped tests. */
export const describeOnChain: typeof describe = existsSync(ANVIL)
  ? describe
  : (() => {
      process.stderr.write(
        '\n*** SKIPPED: payments were NOT tested against a chain: the anvil binary is absent (npm ci installs it on Linux x64) ***\n\n',
      );
      return describe.skip as typeof describe;
    })();

export async function startChain(options: readonly string[] = []): Promise<LocalChain> {
  const port = await freePort();
  const child = spawn(
    ANVIL,
    ['--host', '127.0.0.1', '--port', `${port}`, '--chain-id', '84532', '--silent', ...options],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  const url = `http://127.0.0.1:${port}`;
  const rpc = (method: string, ...params: readonly unknown[]) => call(url, method, params);
  const exited = once(child, 'exit');
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await exited;
  };
  try {
    await answering(rpc);
    const token = await deploy(rpc);
    return { url, token, pid: child.pid!, rpc, stop, ...tokenCalls(rpc, token) };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Rpc = LocalChain['rpc'];

function tokenCalls(
  rpc: Rpc,
  token: `0x${string}`,
): Pick<LocalChain, 'fund' | 'tokensOf' | 'pause' | 'quiet'> {
  const send = (data: `0x${string}`) => transact(rpc, { to: token, data });
  return {
    async fund(address, tokens, gas = 10n ** 18n) {
      await rpc('anvil_setBalance', address, `0x${gas.toString(16)}`);
      const args = [address as `0x${string}`, tokens] as const;
      await send(encodeFunctionData({ abi: TOKEN_ABI, functionName: 'mint', args }));
    },
    async tokensOf(address) {
      const data = encodeFunctionData({ abi: BALANCE_OF, args: [address as `0x${string}`] });
      return BigInt((await rpc('eth_call', { to: token, data }, 'latest')) as string);
    },
    pause: async (on) =>
      void (await send(encodeFunctionData({ abi: TOKEN_ABI, functionName: 'setPaused', args: [on] }))),
    quiet: async (on) =>
      void (await send(encodeFunctionData({ abi: TOKEN_ABI, functionName: 'setQuiet', args: [on] }))),
  };
}

async function deploy(rpc: Rpc): Promise<`0x${string}`> {
  const receipt = await transact(rpc, { data: usdCoinBytecode() });
  if (!receipt.contractAddress) throw new Error('the token was not deployed');
  const { getAddress } = await import('viem');
  return getAddress(receipt.contractAddress);
}

interface Receipt {
  readonly status: string;
  readonly contractAddress: string | null;
}

async function transact(
  rpc: Rpc,
  transaction: { readonly to?: string; readonly data: string },
): Promise<Receipt> {
  const hash = await rpc('eth_sendTransaction', { from: RICH[0], gas: '0x4c4b40', ...transaction });
  for (;;) {
    const receipt = (await rpc('eth_getTransactionReceipt', hash)) as Receipt | null;
    if (receipt) {
      if (receipt.status !== '0x1') throw new Error('a transaction of the test reverted');
      return receipt;
    }
    await sleep(20);
  }
}

async function answering(rpc: Rpc): Promise<void> {
  const until = Date.now() + START_MS;
  for (;;) {
    try {
      await rpc('eth_chainId');
      return;
    } catch (error) {
      if (Date.now() > until) throw error;
      await sleep(50);
    }
  }
}

async function call(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(100_000),
  });
  const { result, error } = (await response.json()) as { result?: unknown; error?: { message: string } };
  if (error) throw new Error(`${method}: ${error.message}`);
  return result;
}
