import { z } from 'zod';
import type { OperationTable } from '../../core/operation.js';

const WALLET = { what: 'The wallet', kind: 'wallet', tools: ['payment_send', 'secrets_list'] };

/** The operations of owners on their wallet. No result holds a private key. */
export const PAYMENT_OPERATIONS = {
  readWallet: {
    method: 'get',
    path: '/lango/wallet',
    keptBy: WALLET,
    input: z.object({}),
    result: z.object({ address: z.string() }),
  },
  importWallet: {
    method: 'put',
    path: '/lango/wallet',
    keptBy: WALLET,
    input: z.object({ privateKey: z.string(), replace: z.boolean().default(false) }),
    result: z.object({ address: z.string() }),
  },
} as const satisfies OperationTable;
