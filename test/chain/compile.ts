import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

interface Compiler {
  compile(input: string): string;
}

interface Compiled {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[];
  readonly contracts?: Readonly<
    Record<string, Record<string, { readonly evm: { readonly bytecode: { readonly object: string } } }>>
  >;
}

let bytecode: `0x${string}` | undefined;

/** The token's code, compiled at first use. */
export function usdCoinBytecode(): `0x${string}` {
  return (bytecode ??= compile('usd-coin.sol', 'UsdCoin'));
}

function compile(file: string, contract: string): `0x${string}` {
  // Loaded here and not above: the compiler is large, and it leaves listeners on the process.
  const listeners = new Map(
    (['uncaughtException', 'unhandledRejection'] as const).map((event) => [
      event,
      process.listeners(event as never),
    ]),
  );
  const solc = createRequire(path.resolve('package.json'))('solc') as Compiler;
  for (const [event, before] of listeners) {
    for (const listener of process.listeners(event as never) as readonly ((...all: unknown[]) => void)[]) {
      if (!(before as readonly unknown[]).includes(listener)) process.off(event, listener);
    }
  }
  const input = {
    language: 'Solidity',
    sources: { [file]: { content: readFileSync(path.resolve('test/chain', file), 'utf8') } },
    settings: {
      optimizer: { enabled: true, runs: 200 },
      evmVersion: 'paris',
      outputSelection: { '*': { '*': ['evm.bytecode.object'] } },
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input))) as Compiled;
  const failures = (output.errors ?? []).filter(({ severity }) => severity === 'error');
  const code = output.contracts?.[file]?.[contract]?.evm.bytecode.object;
  if (failures.length > 0 || !code) {
    throw new Error(
      failures.map(({ formattedMessage }) => formattedMessage).join('\n') || 'nothing compiled',
    );
  }
  return `0x${code}`;
}
