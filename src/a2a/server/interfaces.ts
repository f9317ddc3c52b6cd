import type { AgentInterface } from '@a2a-js/sdk';

export interface InterfaceFacts {
  /** Of the agent. */
  readonly name: string;
  /** Of its HTTP bindings. */
  readonly url: string;
  /** Host and port of the gRPC binding; undefined without one. */
  readonly grpc: string | undefined;
}

/** The ways to an agent, best first. All agents share the gRPC port, so that interface names its agent as the tenant. */
export function interfacesOf({ name, url, grpc }: InterfaceFacts): AgentInterface[] {
  return [
    { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' },
    { url, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', tenant: '' },
    ...(grpc === undefined
      ? []
      : [{ url: grpc, protocolBinding: 'GRPC', protocolVersion: '1.0', tenant: name }]),
  ];
}
