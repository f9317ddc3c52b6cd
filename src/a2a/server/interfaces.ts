import type { AgentInterface } from '@a2a-js/sdk';

export interface InterfaceFacts {
  /** Of the agent. */
  readonly name: string;
  /** Of its HTTP bindings. */
  readonly url: string;
  /** Host and port of the gRPC binding; undefined without one. */
  readonly grpc: string | undefined;
  /** Whether it is the root agent. */
  readonly isRoot: boolean;
}

/**
 * The ways to an agent, best first. All agents share the gRPC port, so that interface names its agent as the tenant;
 * 0.3 has no word for that, so over gRPC it reaches the root agent only.
 */
export function interfacesOf({ name, url, grpc, isRoot }: InterfaceFacts): AgentInterface[] {
  return [
    at(url, 'JSONRPC', '1.0'),
    at(url, 'HTTP+JSON', '1.0'),
    ...(grpc === undefined ? [] : [{ ...at(grpc, 'GRPC', '1.0'), tenant: name }]),
    at(url, 'JSONRPC', '0.3'),
    at(url, 'HTTP+JSON', '0.3'),
    ...(grpc === undefined || !isRoot ? [] : [at(grpc, 'GRPC', '0.3')]),
  ];
}

function at(url: string, protocolBinding: string, protocolVersion: string): AgentInterface {
  return { url, protocolBinding, protocolVersion, tenant: '' };
}
