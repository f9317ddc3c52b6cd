import { z } from 'zod';
import { count, host, httpUrl, path, port, seconds, text, KIB, MIB } from './fields.js';

const serverLimits = z
  .strictObject({
    bodyBytes: count().default(MIB).describe('The largest request body, in bytes.'),
    jsonDepth: count(1000).default(64).describe('The deepest nesting of JSON in a request.'),
    jsonKeys: count().default(1000).describe('The most members of one JSON object in a request.'),
    headerBytes: count()
      .default(16 * KIB)
      .describe('The largest size of all headers of a request, in bytes.'),
    headerSeconds: seconds()
      .default(10)
      .describe('The time a client has to send its headers. With TLS it includes the handshake.'),
    bodySeconds: seconds()
      .default(30)
      .describe('The time a client has to send the body of a request, or the message of a gRPC call.'),
    connections: count()
      .default(4000)
      .describe('Open connections at once, on the HTTP port and on the gRPC port each.'),
    callsPerConnection: count()
      .default(1000)
      .describe('Calls at once on one gRPC connection. An HTTP connection carries one at a time.'),
    answerBytesPerConnection: count()
      .default(64 * MIB)
      .describe(
        'The most bytes of answers that may wait on one gRPC connection for its client to read them.',
      ),
    requestsPerSecond: count()
      .default(5_000)
      .describe('The average request rate of one caller. Beyond it, requests get 429 and the time to wait.'),
    requestBurst: count().default(10_000).describe('Requests of one caller in a burst.'),
    anonymousPerSecond: count()
      .default(200)
      .describe('The average rate from one address for unauthenticated paths: cards, health, unknown paths.'),
    anonymousBurst: count().default(1_000).describe('Unauthenticated requests from one address in a burst.'),
    streams: count().default(1000).describe('Open event streams at once.'),
    streamsPerCaller: count().default(500).describe('Open event streams of one caller.'),
    streamBufferBytes: count()
      .default(MIB)
      .describe(
        'The most bytes that may wait for a slow reader of a stream. Beyond it the stream is closed; the client can resume it.',
      ),
    heartbeatSeconds: seconds().default(15).describe('An idle stream sends a heartbeat after this time.'),
    drainSeconds: seconds().default(20).describe('The time that open requests get when the server stops.'),
    concurrentRuns: count()
      .default(64)
      .describe(
        'Tasks that run at once. Others wait. Tasks below them (delegations) have as many slots of their own at each level.',
      ),
  })
  .prefault({})
  .describe('Limits of requests, streams and runs.');

const grpc = z
  .strictObject({
    enabled: z.boolean().default(false).describe('Also serve gRPC, on its own port.'),
    port: port()
      .default(4101)
      .describe('The port for gRPC, on the address of `server.host`. 0 takes a free one.'),
    advertise: text()
      .regex(/^[^\s/]+:\d{1,5}$/, 'must be host:port')
      .optional()
      .describe(
        'The gRPC address in agent cards, as `host:port`. Default: the host that the client used for the card, with the gRPC port.',
      ),
  })
  .prefault({})
  .describe('The gRPC binding of all agents.');

const tls = z
  .strictObject({
    certFile: path()
      .optional()
      .describe(
        'The certificate of the server with its chain, PEM. Default: none; the server uses plain HTTP.',
      ),
    keyFile: path().optional().describe('The private key of the certificate, PEM. Default: none.'),
    clientCaFile: path()
      .optional()
      .describe(
        'The certificate authorities to trust for client certificates, PEM. Default: none; clients are not asked for a certificate.',
      ),
    crlFile: path()
      .optional()
      .describe('The certificates that those authorities revoked (CRL), PEM. Default: none.'),
    minVersion: z
      .enum(['TLSv1.2', 'TLSv1.3'])
      .default('TLSv1.2')
      .describe('The oldest accepted version of TLS.'),
  })
  .prefault({})
  .describe('TLS. SIGHUP reloads the files.');

export const server = z
  .strictObject({
    host: host().default('127.0.0.1').describe('The address to listen on.'),
    port: port().default(4100).describe('The port to listen on. 0 takes a free one.'),
    trustProxy: z
      .boolean()
      .default(false)
      .describe('Trust the X-Forwarded headers. Only behind a proxy that sets them itself.'),
    allowedHosts: z
      .array(text())
      .default([])
      .describe(
        "Further Host headers to accept, as `name` or `name:port`. The server's own address is always accepted.",
      ),
    allowedOrigins: z
      .array(httpUrl())
      .default([])
      .describe('Web origins whose pages may call this server, such as `https://app.example`.'),
    grpc,
    tls,
    limits: serverLimits,
  })
  .prefault({})
  .describe('The HTTP server.');
