import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { x402Facilitator } from '@x402/core/facilitator';
import type { FacilitatorClient } from '@x402/core/server';
import { toFacilitatorEvmSigner } from '@x402/evm';
import { registerExactEvmScheme as registerFacilitator } from '@x402/evm/exact/facilitator';
import { ExactEvmScheme } from '@x402/evm/exact/server';
import { paymentMiddleware, x402ResourceServer } from '@x402/express';
import express from 'express';
import { createWalletClient, http, publicActions } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { baseSepolia } from 'viem/chains';
import type { LocalChain } from './local-chain.js';
import { RICH, RICH_KEYS } from './local-chain.js';

const NETWORK = 'eip155:84532';

/** The steps of a request: without a payment, with one, and with its payment settled before the response. */
export type PaidStep = 'asked' | 'paid' | 'settled';

export interface PaidEndpoint {
  readonly url: string;
  /** Requests that carried a payment. */
  readonly payments: string[];
  /**
   * The offer to later requests: the price in the smallest unit, the payee, and whether the connection breaks after the
   * payment.
   */
  offer: { amount: string; payTo: string; breaks: boolean };
  /** Called at each step of a request. Returns true to let the request hang there. */
  hangsAt: (step: PaidStep) => boolean;
  close(): Promise<void>;
}

/**
 * An endpoint that requires a payment, built with the official packages; its facilitator settles on the local chain.
 */
export async function openPaidEndpoint(chain: LocalChain): Promise<PaidEndpoint> {
  const app = express();
  const offer = { amount: '10000', payTo: String(RICH[2]), breaks: false };
  const payments: string[] = [];
  const resources = new x402ResourceServer(localFacilitator(chain)).register(NETWORK, new ExactEvmScheme());
  const accepts = {
    scheme: 'exact',
    network: NETWORK,
    payTo: () => offer.payTo,
    price: () => ({ asset: chain.token, amount: offer.amount, extra: { name: 'USD Coin', version: '2' } }),
    maxTimeoutSeconds: 60,
  } as const;
  app.use((request, response, next) => {
    const payment = request.header('PAYMENT-SIGNATURE');
    if (payment) payments.push(payment);
    if (endpoint.hangsAt(payment ? 'paid' : 'asked')) return;
    if (payment) {
      // The payment is settled all the same: the payer just never hears of it.
      const end = response.end.bind(response) as (...given: readonly unknown[]) => typeof response;
      response.end = (...given: readonly unknown[]) =>
        endpoint.hangsAt('settled') || offer.breaks ? response.destroy() : end(...given);
    }
    next();
  });
  app.use(paymentMiddleware({ 'GET /paid': { accepts }, 'POST /paid': { accepts } }, resources));
  app.all('/paid', express.text({ type: '*/*' }), (request, response) => {
    response.json({ weather: 'fine', heard: request.body as unknown });
  });
  app.get('/free', (_request, response) => void response.send('nothing to pay'));
  const server: Server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const endpoint: PaidEndpoint = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    payments,
    offer,
    hangsAt: () => false,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return endpoint;
}

function localFacilitator(chain: LocalChain): FacilitatorClient {
  const account = privateKeyToAccount(RICH_KEYS[0]);
  const wallet = createWalletClient({
    account,
    chain: baseSepolia,
    transport: http(chain.url),
    pollingInterval: 50,
  }).extend(publicActions);
  const signer = toFacilitatorEvmSigner({ ...wallet, address: account.address } as unknown as Parameters<
    typeof toFacilitatorEvmSigner
  >[0]);
  const facilitator = registerFacilitator(new x402Facilitator(), { signer, networks: NETWORK });
  return {
    verify: (payload, requirements) => facilitator.verify(payload, requirements),
    settle: (payload, requirements) => facilitator.settle(payload, requirements),
    getSupported: async () =>
      facilitator.getSupported() as Awaited<ReturnType<FacilitatorClient['getSupported']>>,
  };
}
