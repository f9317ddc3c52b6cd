import { grpc, grpcFrames, http2Frames } from './grpc-attacks.js';
import { httpJson, jsonRpc, paths, sockets } from './http-attacks.js';
import type { Attack } from './target.js';

/** Add a row for each way in: its name stands in the figures. */
export const ATTACKS: Readonly<Record<string, Attack>> = {
  'JSON-RPC': jsonRpc,
  'HTTP+JSON': httpJson,
  gRPC: grpc,
  paths,
  sockets,
  'gRPC frames': grpcFrames,
  'HTTP/2 frames': http2Frames,
};
