import type { PostgresDatabase } from './database.js';

interface Waiting {
  readonly key: Buffer;
  readonly resolve: (isKnown: boolean) => void;
  readonly reject: (error: unknown) => void;
}

const KNOWN = 'SELECT key FROM inbox WHERE key = ANY(@keys::bytea[])';

/** Looks for the messages of one turn of the event loop in one statement: nearly none of them was sent before. */
export class InboxLookups {
  readonly #database: PostgresDatabase;
  #waiting: Waiting[] = [];

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  /** Whether a message with this key may have been sent before. */
  isKnown(key: Buffer): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ key, resolve, reject });
      if (this.#waiting.length === 1) setImmediate(() => void this.#look());
    });
  }

  async #look(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      const keys = waiting.map(({ key }) => key);
      const { rows } = await this.#database.one({ sql: KNOWN, values: [{ keys }] });
      const known = new Set((rows as readonly { key: Buffer }[]).map(({ key }) => key.toString('hex')));
      for (const { key, resolve } of waiting) resolve(known.has(key.toString('hex')));
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }
}
