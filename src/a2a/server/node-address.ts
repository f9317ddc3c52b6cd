import { hostInUrl } from '../../core/addresses.js';
import { grpcAddress } from './card.js';

interface AddressSettings {
  readonly a2a: { readonly baseUrl?: string | undefined };
  readonly server: {
    readonly host: string;
    readonly port: number;
    readonly grpc: { readonly advertise?: string | undefined };
  };
}

/** The addresses at which clients reach this node. Until it listens, the port is the configured one, without gRPC. */
export class NodeAddress {
  readonly #settings: AddressSettings;
  /** Whether both listeners use TLS. */
  readonly isTls: boolean;
  #origin: string;
  #grpcPort: number | undefined;

  constructor(settings: AddressSettings, isTls: boolean) {
    this.#settings = settings;
    this.isTls = isTls;
    this.#origin = `${isTls ? 'https' : 'http'}://${hostInUrl(settings.server.host)}:${settings.server.port}`;
  }

  /** `a2a.baseUrl`, or without it the origin at which a client on this machine reaches the node. */
  get baseUrl(): string {
    return this.#settings.a2a.baseUrl ?? this.#origin;
  }

  /** The gRPC address on a card for clients that use `baseUrl`; undefined without gRPC. */
  grpcFor(baseUrl: string): string | undefined {
    if (this.#grpcPort === undefined) return undefined;
    return this.#settings.server.grpc.advertise ?? grpcAddress(baseUrl, this.#grpcPort);
  }

  /** `url` has the mount path too, when the node is mounted in another app. */
  httpListensAt(url: string): void {
    this.#origin = url;
  }

  grpcListens(port: number): void {
    this.#grpcPort = port;
  }
}
