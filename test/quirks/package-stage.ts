import { once } from 'node:events';
import { newId } from '../../src/core/ids.js';
import type { JsonObject } from '../../src/core/json.js';
import { textPart, type Part } from '../../src/core/message.js';
import { z } from 'zod';
import { defineTool, type DefinedAgent } from '../../src/index.js';
import { ScriptedServer, type RecordedRequest } from '../support/scripted-server.js';
import { sendParts, startServer, type Outcome, type TestServer } from '../support/server.js';
import { VENDOR_KEY, type ModelSettings, type PackageVendor } from './package-vendors.js';
import type { VendorAnswer } from './vendor-streams.js';

/** The response of the vendor: an output, a status, or the first bytes of a stream whose connection then breaks or hangs. */
type PackageAnswer =
  | VendorAnswer
  | { readonly status: number; readonly body: unknown; readonly headers?: Record<string, string> }
  | { readonly bytes: Buffer; readonly then: 'ends' | 'breaks' | 'hangs' };

/** The first bytes of an image. */
export const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1]).toString('base64');

/** A tool whose result is an image. */
const photo = defineTool({
  name: 'search_photo',
  description: 'Finds a photo.',
  schema: z.strictObject({}),
  effect: 'pure',
  execute: async () => ({
    content: 'a photo',
    files: [{ kind: 'file', mediaType: 'image/png', filename: 'photo.png', bytes: PNG }],
  }),
});

export interface PackageAsking {
  readonly vendor: PackageVendor;
  /** In order; the last one is repeated. */
  readonly answers: readonly PackageAnswer[];
  readonly message?: string | readonly Part[];
  readonly contextId?: string;
  /** Further settings of the model. */
  readonly model?: ModelSettings;
  /** Agents of the program. */
  readonly agents?: readonly DefinedAgent[];
  /** The name of the one that gets the message, in place of the shipped agent. */
  readonly agent?: string;
  /** Called with each request as it arrives. */
  readonly onRequest?: (request: RecordedRequest, server: TestServer) => void;
}

export interface PackageTold {
  readonly state: string;
  readonly text: string;
  readonly outcome: Outcome;
  readonly contextId: string;
  readonly bodies: readonly JsonObject[];
  /** Why the strict vendor refused requests, or what of their address or key is wrong. */
  readonly refused: readonly string[];
}

let far: Promise<ScriptedServer> | undefined;
const servers = new Map<string, Promise<TestServer>>();

/** Ends the servers of this test file. */
export async function closePackageStage(): Promise<void> {
  await Promise.all([...servers.values()].map(async (server) => (await server).stop()));
  servers.clear();
  await (await far)?.[Symbol.asyncDispose]();
  far = undefined;
}

/** Sends a message to a Lango server whose model is a package of the AI SDK, in front of a vendor as strict as the real one. */
export async function askPackage(asking: PackageAsking): Promise<PackageTold> {
  const { vendor, answers, message = 'hello', contextId = newId(), agent } = asking;
  const vendorServer = await (far ??= ScriptedServer.open());
  const server = await serverFor(asking, vendorServer.url);
  const bodies: JsonObject[] = [];
  const refused: string[] = [];
  vendorServer.willAlwaysReply(async (response, request) => {
    const { path, headers, body } = request;
    const n = bodies.push(body) - 1;
    asking.onRequest?.(request, server);
    const key = vendor.key(headers);
    const reason = [
      ...(vendor.path.test(path) ? [] : [`There is no path ${path}.`]),
      ...(key === VENDOR_KEY ? [] : [`The key ${key} is not known.`]),
      ...vendor.rules.map((rule) => rule(body)),
    ].find((found) => found !== undefined);
    if (reason !== undefined) refused.push(reason);
    const answer: PackageAnswer = reason
      ? { status: 400, body: vendor.errorBody(400, reason) }
      : answers[Math.min(n, answers.length - 1)]!;
    if ('status' in answer) {
      response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
      response.end(JSON.stringify(answer.body));
      return;
    }
    response.writeHead(200, { 'content-type': vendor.mediaType });
    if (!('bytes' in answer)) {
      await inPieces(response, vendor.stream(answer));
      response.end();
    } else {
      response.write(answer.bytes);
      if (answer.then === 'ends') response.end();
      if (answer.then === 'breaks') setTimeout(() => response.destroy(), 20);
      if (answer.then === 'hangs') await once(response, 'close');
    }
  });
  const parts = typeof message === 'string' ? [textPart(message)] : message;
  const outcome = await sendParts(server, { parts, contextId, ...(agent !== undefined && { agent }) });
  return { outcome, bodies, refused, contextId, state: outcome.end.state, text: outcome.end.text };
}

/** Small deltas, cut anywhere. */
const PIECE_BYTES = 200;

async function inPieces(response: { write(piece: Buffer): boolean }, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    response.write(bytes.subarray(at, at + PIECE_BYTES));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function serverFor({ vendor, model, agents = [] }: PackageAsking, url: string): Promise<TestServer> {
  const settings = {
    server: { port: 0 },
    approval: { policy: 'none' as const },
    tools: { fs: { enabled: true }, crypto: { enabled: true } },
    agent: { multiAgent: false },
    model: { maxRetries: 0, ...vendor.settings(url), ...model },
  };
  const key = JSON.stringify(settings);
  const open = servers.get(key) ?? startServer({ settings, agents, tools: [photo] });
  servers.set(key, open);
  return open;
}
