import { z } from 'zod';
import { rateKeys, tls } from './auth-keys.js';
import {
  agentName,
  subAgentName,
  count,
  host,
  httpUrl,
  port,
  refuseDuplicates,
  seconds,
  secret,
  text,
  KIB,
  MIB,
} from './fields.js';
import { cardTrust, push, signCards } from './push-keys.js';

const serverLimits = z
  .strictObject({
    bodyBytes: count().default(MIB).describe('Size of a request body.'),
    jsonDepth: count(1000).default(64).describe('Nesting of JSON in a request.'),
    jsonKeys: count().default(1000).describe('Members of one JSON object in a request.'),
    headerBytes: count()
      .default(16 * KIB)
      .describe('Size of all headers of a request.'),
    headerSeconds: seconds()
      .default(10)
      .describe('Time a client has to send its headers; over TLS also for the handshake.'),
    bodySeconds: seconds()
      .default(30)
      .describe('Time a client has to send the body of a request, or the message of a gRPC call.'),
    connections: count()
      .default(4000)
      .describe('Connections open at once, on the port of HTTP and on that of gRPC each.'),
    callsPerConnection: count()
      .default(1000)
      .describe('Calls under way on one connection of gRPC; over HTTP it is one.'),
    answerBytesPerConnection: count()
      .default(64 * MIB)
      .describe('What may wait of answers on one connection of gRPC for its client to take it.'),
    ...rateKeys,
    streams: count().default(1000).describe('Event streams open at once.'),
    streamsPerCaller: count().default(500).describe('Event streams that one caller may have open.'),
    streamBufferBytes: count()
      .default(MIB)
      .describe('What may wait for a slow reader of a stream before it is closed; it can resume.'),
    heartbeatSeconds: seconds()
      .default(15)
      .describe('Pause after which an idle stream sends a sign of life.'),
    drainSeconds: seconds().default(20).describe('Time that open requests get when the server stops.'),
    concurrentRuns: count()
      .default(64)
      .describe(
        'Tasks worked on at once; others wait their turn. What they delegate does not count here, and has as many places at each level.',
      ),
  })
  .prefault({})
  .describe('What bounds requests and streams.');

const grpc = z
  .strictObject({
    enabled: z.boolean().default(false).describe('Also serve gRPC, on a port of its own.'),
    port: port()
      .default(4101)
      .describe('Port for gRPC, on the address of `server.host`; 0 takes a free one.'),
    advertise: text()
      .regex(/^[^\s/]+:\d{1,5}$/, 'must be host:port')
      .optional()
      .describe(
        'What agent cards name for gRPC, as `host:port`. Default: the host that the card was asked from, and the port.',
      ),
  })
  .prefault({})
  .describe('The gRPC binding of all agents.');

export const server = z
  .strictObject({
    host: host().default('127.0.0.1').describe('Address to listen on.'),
    port: port().default(4100).describe('Port to listen on; 0 takes a free one.'),
    trustProxy: z
      .boolean()
      .default(false)
      .describe('Believe the X-Forwarded headers. Only behind a proxy that sets them itself.'),
    allowedHosts: z
      .array(text())
      .default([])
      .describe(
        'Further Host headers to answer, as `name` or `name:port`. Its own address is always allowed.',
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

const remoteAgent = z.strictObject({
  name: subAgentName().describe('The name it has here, for delegations.'),
  url: httpUrl().describe('Address of its agent card, or of the agent itself.'),
  token: secret('The bearer token it asks for.'),
  allowPrivate: z.boolean().default(false).describe('Its address may be a private or loopback one.'),
  verify: cardTrust.optional(),
});

export const a2a = z
  .strictObject({
    enabled: z
      .boolean()
      .default(false)
      .describe('Whether the agents of `a2a.remoteAgents` join as sub-agents. SIGHUP reads it again.'),
    baseUrl: httpUrl()
      .optional()
      .describe(
        'The address that agent cards name, such as `https://agents.example`. Default: the one that the client used.',
      ),
    publish: z
      .array(agentName())
      .min(1)
      .superRefine(refuseDuplicates((name) => name, []))
      .optional()
      .describe('The agents that this node runs, by name. Default: all.'),
    push,
    signCards,
    remoteAgents: z
      .array(remoteAgent)
      .superRefine(refuseDuplicates((peer) => peer.name, ['name']))
      .default([])
      .describe('Agents on other servers. SIGHUP reads the list again.'),
    cardBytes: count()
      .default(256 * KIB)
      .describe('Size of a remote agent card.'),
    connectSeconds: seconds().default(10).describe('Time a remote agent has to answer with its card.'),
    refreshSeconds: seconds()
      .default(15)
      .describe('Pause between two looks at the remote agents, to see who came and who left.'),
  })
  .prefault({})
  .describe('Agents of other servers, and what this one shows of its own.');
