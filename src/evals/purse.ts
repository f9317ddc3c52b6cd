/** The money of a run. Cases at the same time share what is left, so that all of them together keep to the budget. */
export class Purse {
  readonly #budget: number | undefined;
  #left: number;
  #free: number;

  constructor(budget: number | undefined, parallel: number) {
    this.#budget = budget;
    this.#left = budget ?? Infinity;
    this.#free = parallel;
  }

  spend(cost: number): void {
    this.#left -= cost;
  }

  /** Takes the share of one case. Throws when nothing is left. */
  take(): number | undefined {
    if (this.#budget === undefined) return undefined;
    if (this.#left <= 0) throw new Error(`The budget of ${this.#budget} is spent; this case was not run.`);
    const share = this.#left / this.#free;
    this.#left -= share;
    this.#free -= 1;
    return share;
  }

  giveBack(share: number | undefined, cost: number): void {
    if (share === undefined) return;
    this.#left += share - cost;
    this.#free += 1;
  }
}
