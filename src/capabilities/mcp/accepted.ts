import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import { canonicalJson, hashJson } from '../../core/canonical-json.js';
import { PrivateFile } from '../../disk/private-file.js';
import type { Definition } from './connection.js';

const hashes = z.record(z.string(), z.string());
const fileSchema = z.object({ target: z.string(), tools: hashes, held: hashes.default({}) });

type StoredHashes = Omit<z.output<typeof fileSchema>, 'target'>;

/** Maximum stored definitions, so that a server cannot fill the disk with new tools. Further tools are held back. */
const STORED_MAX = 1_000;

const HINT = 'Delete the file to accept the tools as they are now.';

/** Whether the definition of a tool is accepted. `changed`: only another definition of the tool is. */
export type Verdict = 'accepted' | 'new' | 'changed';

/** The hash of the members that the model and the approval depend on. */
export function definitionHash(definition: Definition): string {
  const { name, description = '', inputSchema, annotations = {} } = definition;
  return hashJson({ name, description, inputSchema, annotations });
}

/**
 * The accepted definitions of tools, in a file. The first definition of a tool is accepted. A changed one is held back,
 * because a server could otherwise change a tool that a person has approved.
 */
export class AcceptedTools {
  readonly #file: PrivateFile;
  readonly #target: string;

  constructor(file: string, target: string) {
    this.#file = new PrivateFile(file, { title: 'list of accepted tools', hint: HINT, createsFolder: true });
    this.#target = target;
  }

  /** Compares the definitions with the accepted ones. Stores new ones as accepted, and changed ones as held back. */
  async judge(definitions: readonly Definition[]): Promise<ReadonlyMap<string, Verdict>> {
    const { tools, held } = await this.#read();
    let remaining = STORED_MAX - Object.keys(tools).length;
    const verdicts = new Map(
      definitions.map((definition): [string, Verdict] => {
        const known = Object.hasOwn(tools, definition.name) ? tools[definition.name] : undefined;
        if (known === undefined) return [definition.name, remaining-- > 0 ? 'new' : 'changed'];
        return [definition.name, known === definitionHash(definition) ? 'accepted' : 'changed'];
      }),
    );
    const of = (wanted: Verdict) => {
      const those = definitions.filter(({ name }) => verdicts.get(name) === wanted);
      return Object.fromEntries(those.map((one) => [one.name, definitionHash(one)]));
    };
    const newest = Object.entries({ ...held, ...of('changed') }).slice(-STORED_MAX);
    const next = { tools: { ...tools, ...of('new') }, held: Object.fromEntries(newest) };
    if (canonicalJson(next) !== canonicalJson({ tools, held })) await this.#write(next);
    return verdicts;
  }

  /** Accepts the definitions that were held back, as they were judged. Resolves with the names of their tools. */
  async accept(): Promise<readonly string[]> {
    const { tools, held } = await this.#read();
    await this.#write({ tools: { ...tools, ...held }, held: {} });
    return Object.keys(held);
  }

  async #read(): Promise<StoredHashes> {
    const nothing = { tools: {}, held: {} };
    const text = await this.#file.load();
    if (text === undefined) return nothing;
    try {
      const { target, ...kept } = fileSchema.parse(JSON.parse(text));
      return target === this.#target ? kept : nothing;
    } catch (cause) {
      const problem = `${this.#file.path} cannot be read, so no tool of this server is offered.`;
      throw new LangoError('storage', problem, { hint: HINT, cause });
    }
  }

  #write(kept: StoredHashes): Promise<void> {
    return this.#file.replace(JSON.stringify({ target: this.#target, ...kept }, null, 2));
  }
}
