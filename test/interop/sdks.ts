import path from 'node:path';

export type Transport = 'JSONRPC' | 'HTTP+JSON' | 'GRPC';
export type Version = '1.0' | '0.3';
export type Role = 'client' | 'remote agent';

/** A column of docs/reference/interop.md. */
export type Operation =
  | 'card'
  | 'extended card'
  | 'send'
  | 'stream'
  | 'ask'
  | 'cancel'
  | 'get'
  | 'list'
  | 'follow'
  | 'files'
  | 'errors'
  | 'push'
  | 'auth';

/** An operation that fails by a fault of the SDK. Its test must fail: the test goes red once the SDK is fixed. */
interface Fault {
  readonly operation: Operation;
  readonly role?: Role;
  readonly transport?: Transport | readonly Transport[];
  readonly version?: Version;
  readonly why: string;
}

export interface Sdk {
  readonly name: string;
  /** The name of the SDK's folder in `.ci/frameworks`, where its version is pinned. */
  readonly folder: string;
  /** Matches the pinned version there. */
  readonly pin: RegExp;
  readonly command: (folder: string, peers: string) => readonly string[];
  /** The roles of the SDK's program. Default: both. */
  readonly roles?: readonly Role[];
  readonly bindings: readonly (readonly [Transport, Version])[];
  readonly faults: readonly Fault[];
  /** Further things that do not work and are not tested. */
  readonly notes?: readonly string[];
}

const ALL: Sdk['bindings'] = [
  ['JSONRPC', '1.0'],
  ['HTTP+JSON', '1.0'],
  ['GRPC', '1.0'],
  ['JSONRPC', '0.3'],
  ['HTTP+JSON', '0.3'],
  ['GRPC', '0.3'],
];

/** The official SDKs. Each has a program in `peers/`, which is a client and a server. */
export const SDKS: readonly Sdk[] = [
  {
    name: 'a2a-sdk (Python)',
    folder: 'a2a-python',
    pin: /a2a-sdk\S*==([\d.]+)/,
    command: (folder, peers) => [path.join(folder, 'bin/python'), path.join(peers, 'a2a_python.py')],
    bindings: ALL,
    faults: [
      {
        operation: 'files',
        transport: ['HTTP+JSON', 'GRPC'],
        version: '0.3',
        why:
          'The proto of 0.3 has a field of bytes for a file. This SDK writes and expects base64 text in it, so the ' +
          'receiver gets that text as the file. Over JSON-RPC, and in A2A 1.0, files are right.',
      },
    ],
  },
  {
    name: '@a2a-js/sdk (JavaScript)',
    folder: 'a2a-js',
    pin: /@a2a-js\/sdk@(1[\d.]+)/,
    command: (folder) => [process.execPath, path.join(folder, 'a2a_js.mjs')],
    bindings: ALL,
    faults: [
      {
        operation: 'stream',
        role: 'client',
        transport: ['HTTP+JSON', 'GRPC'],
        version: '0.3',
        why:
          'Its client of the proto of 0.3 drops `append` (`FromProto.taskArtifactUpdateEvent`), so each piece of an ' +
          'answer replaces the one before. The answer as a whole is right.',
      },
    ],
  },
  {
    name: 'a2a-go',
    folder: 'a2a-go',
    pin: /a2a-go\/v2@v([\d.]+)/,
    command: (folder) => [path.join(folder, 'peer')],
    bindings: ALL.filter(([transport, version]) => transport !== 'HTTP+JSON' || version !== '0.3'),
    faults: [
      {
        operation: 'extended card',
        transport: ['JSONRPC', 'HTTP+JSON'],
        version: '1.0',
        why:
          'It writes and expects `{"schemes":{"NAME":[]}}` in `securityRequirements`, where the proto of 1.0 has ' +
          '`{"schemes":{"NAME":{"list":[]}}}`. A card that Go asks for without a version, as this SDK does, has the ' +
          'requirements of 0.3, which its parser `a2av0.NewAgentCardParser()` reads.',
      },
    ],
    notes: [
      'HTTP+JSON of A2A 0.3 is another protocol there: its paths have no `/v1`, and its bodies are those of JSON-RPC ' +
        'with names in snake case. Its clients and servers take JSON-RPC or gRPC.',
    ],
  },
  {
    name: 'a2a-java',
    folder: 'a2a-java',
    pin: /a2a-java-sdk-client<\/artifactId><version>(0[\w.]+)/,
    command: (folder) => ['java', '-cp', `${folder}/classes:${folder}/lib/*`, 'Peer'],
    bindings: ALL.filter(([, version]) => version === '0.3'),
    faults: [
      {
        operation: 'files',
        transport: ['HTTP+JSON', 'GRPC'],
        why:
          'Over the proto of 0.3 it leaves out the media type of a file, so an agent that takes texts refuses it, and it ' +
          'writes and expects base64 text in the field of bytes.',
      },
      {
        operation: 'errors',
        role: 'client',
        transport: 'HTTP+JSON',
        why:
          'It finds the error by the name of its own Java class in the body, which no other server sends, and throws a ' +
          'NullPointerException without it.',
      },
    ],
    notes: [
      "The remote agent is its reference server, on Quarkus. That server's part for gRPC, " +
        '`a2a-java-sdk-reference-grpc` 0.3.3.Final, is not in the registry that the tests install from: over gRPC its ' +
        '`GrpcHandler` is tried behind a server of grpc-java. Now and then (once in about 150 streams on one core) the ' +
        'server sends an event after those that follow it, when they come back to back: the agent of the test pauses ' +
        'after each.',
    ],
  },
  {
    name: 'a2a-java',
    folder: 'a2a-java-1',
    pin: /a2a-java-sdk-client<\/artifactId><version>(1[\w.]+)/,
    command: (folder) => ['java', '-cp', `${folder}/classes:${folder}/lib/*`, 'Peer'],
    roles: ['client'],
    bindings: ALL.filter(([transport, version]) => transport !== 'GRPC' && version === '1.0'),
    faults: [
      {
        operation: 'extended card',
        transport: 'HTTP+JSON',
        why: 'Its parser of a card over HTTP+JSON refuses an interface without a tenant, which the proto may leave out.',
      },
      {
        operation: 'list',
        transport: 'JSONRPC',
        why:
          'It refuses a page with fewer tasks than the `pageSize` that was asked for. Over HTTP+JSON it leaves out ' +
          'that check.',
      },
      {
        operation: 'errors',
        transport: 'HTTP+JSON',
        why:
          'It expects the error of a draft. At the error object of 1.0 it throws an UnsupportedOperationException ' +
          'that names no error.',
      },
      {
        operation: 'push',
        why:
          'It writes a push config as a draft of 1.0 had it, as an object of its own inside the request, where 1.0 ' +
          'has one flat object.',
      },
    ],
    notes: [
      'The newest release in the registry that the tests install from, 1.0.0.Alpha3, is of a draft of A2A 1.0. Over gRPC ' +
        'it calls `a2a.v1.A2AService`, which in the end became `lf.a2a.v1.A2AService`, so gRPC is left out. It writes ' +
        '`blocking` where 1.0 has `returnImmediately`: to get a task at once, send with a stream.',
      'Its reference servers of 1.0.0.Alpha3 are not in that registry: of this version only the clients are tried.',
    ],
  },
];
