import { LangoError } from './errors.js';

/** Names a service, with its type. The part that needs a service knows its contract only, never the part that offers it. */
export class Contract<Service> {
  readonly name: string;
  /** Not set. It holds the type. */
  declare readonly service: Service;

  /** `name` completes the sentence "This server has no …". */
  constructor(name: string) {
    this.name = name;
  }
}

export interface Offer {
  readonly contract: Contract<unknown>;
  readonly service: unknown;
}

export function offer<Service>(contract: Contract<Service>, service: Service): Offer {
  return { contract, service };
}

export interface Services {
  /** Throws `unavailable` when nothing offers it. */
  require<Service>(contract: Contract<Service>): Service;
  find<Service>(contract: Contract<Service>): Service | undefined;
}

export class ServiceRegistry implements Services {
  readonly #services = new Map<Contract<unknown>, unknown>();

  /** Throws `conflict` when the contract has a service already. */
  add({ contract, service }: Offer): void {
    if (this.#services.has(contract))
      throw new LangoError('conflict', `Two capabilities offer the ${contract.name}.`, {
        hint: 'Remove one of them from the list of capabilities.',
      });
    this.#services.set(contract, service);
  }

  find<Service>(contract: Contract<Service>): Service | undefined {
    return this.#services.get(contract) as Service | undefined;
  }

  require<Service>(contract: Contract<Service>): Service {
    const service = this.find(contract);
    if (service !== undefined) return service;
    throw new LangoError('unavailable', `This server has no ${contract.name}.`, {
      hint: 'The capability that offers it is not in the list of capabilities.',
    });
  }
}
