import * as abuse from './abuse-attacks.js';
import { grpc, grpcFrames, http2Frames } from './grpc-attacks.js';
import { httpJson, jsonRpc, paths, sockets } from './http-attacks.js';
import type { Attack } from './target.js';
import { claims, credentials } from './tokens.js';

/** Every kind of attack, by its name in the figures. */
export const ATTACKS: Readonly<Record<string, Attack>> = {
  'JSON-RPC': jsonRpc,
  'HTTP+JSON': httpJson,
  gRPC: grpc,
  paths,
  sockets,
  'gRPC frames': grpcFrames,
  'HTTP/2 frames': http2Frames,
  'doubled members': abuse.doubledMembers,
  'slow bodies': abuse.slowBodies,
  documents: abuse.documents,
  owners: abuse.owners,
  approvals: abuse.approvals,
  'unseen letters': abuse.invisible,
  'letters of a peer': abuse.peersLetters,
  'wrong credentials': credentials,
  'wrong claims': claims,
  'push inside': abuse.pushInside,
  'cut streams': abuse.cutStreams,
};

/** Attacks that wait or parse for a second or more. They are chosen less often. */
export const RARE: ReadonlySet<string> = new Set([
  'slow bodies',
  'documents',
  'approvals',
  'wrong credentials',
]);
