import { hash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

type Hex = `0x${string}`;

interface Compiler {
  compile(input: string): string;
}

interface Compiled {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[];
  readonly contracts?: Readonly<
    Record<string, Record<string, { readonly evm: { readonly bytecode: { readonly object: string } } }>>
  >;
}

const FILE = 'usd-coin.sol';
const CONTRACT = 'UsdCoin';
const SETTINGS = {
  optimizer: { enabled: true, runs: 200 },
  evmVersion: 'paris',
  outputSelection: { '*': { '*': ['evm.bytecode.object'] } },
};
const requireHere = createRequire(path.resolve('package.json'));

/**
 * Compiles the token contract. The code is cached for other test files and runs: compiling it takes longer than most
 * tests with a chain.
 */
export function usdCoinBytecode(): Hex {
  const { version } = requireHere('solc/package.json') as { readonly version: string };
  const input = JSON.stringify({
    language: 'Solidity',
    sources: { [FILE]: { content: readFileSync(path.resolve('test/chain', FILE), 'utf8') } },
    settings: SETTINGS,
  });
  const kept = path.resolve('node_modules/.cache', `usd-coin-${hash('sha256', version + input)}.hex`);
  if (!existsSync(kept)) writeWhole(kept, compile(input));
  return readFileSync(kept, 'utf8') as Hex;
}

function writeWhole(file: string, text: string): void {
  const draft = `${file}.${process.pid}`;
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(draft, text);
  renameSync(draft, file);
}

function compile(input: string): Hex {
  // The compiler is loaded here and not above: it is large, and it leaves listeners on the process.
  const listeners = new Map(
    (['uncaughtException', 'unhandledRejection'] as const).map((event) => [
      event,
      process.listeners(event as never),
    ]),
  );
  const solc = requireHere('solc') as Compiler;
  for (const [event, before] of listeners) {
    for (const listener of process.listeners(event as never) as readonly ((...all: unknown[]) => void)[]) {
      if (!(before as readonly unknown[]).includes(listener)) process.off(event, listener);
    }
  }
  const output = JSON.parse(solc.compile(input)) as Compiled;
  const failures = (output.errors ?? []).filter(({ severity }) => severity === 'error');
  const code = output.contracts?.[FILE]?.[CONTRACT]?.evm.bytecode.object;
  if (failures.length > 0 || !code) {
    throw new Error(
      failures.map(({ formattedMessage }) => formattedMessage).join('\n') || 'nothing compiled',
    );
  }
  return `0x${code}`;
}
