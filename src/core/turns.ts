/** Lets one at a time do its work under a name, in the order they came. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  async take<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const mine = this.#last.get(name)?.then(work) ?? work();
    const settled = mine.then(nothing, nothing);
    this.#last.set(name, settled);
    try {
      return await mine;
    } finally {
      if (this.#last.get(name) === settled) this.#last.delete(name);
    }
  }
}

function nothing(): void {}
