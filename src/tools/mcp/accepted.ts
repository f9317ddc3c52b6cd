import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { codeOf, LangoError } from '../../core/errors.js';
import { canonicalJson, hashJson } from '../../core/json.js';
import type { Definition } from './connection.js';

const hashes = z.record(z.string(), z.string());
const fileSchema = z.object({ target: z.string(), tools: hashes, held: hashes.default({}) });

type Kept = Omit<z.output<typeof fileSchema>, 'target'>;

/** A server that goes on naming new tools fills no disk: further ones are held back until a person looks. */
const MOST_KEPT = 1_000;

/** Whether the definition of a tool was accepted. `changed`: another definition of the same tool was. */
export type Verdict = 'accepted' | 'new' | 'changed';

/** The hash of the members that the model and the approval depend on. */
export function definitionHash({
  name,
  description = '',
  inputSchema,
  annotations = {},
}: Definition): string {
  return hashJson({ name, description, inputSchema, annotations });
}

/**
 * The definitions of tools that were accepted, in a file. The first definition of a tool is accepted when it is first
 * seen. A changed one is held back, because a server could have a tool approved and then change what it does.
 */
export class AcceptedTools {
  readonly #file: string;
  readonly #target: string;

  constructor(file: string, target: string) {
    this.#file = file;
    this.#target = target;
  }

  /** Judges the definitions. Keeps the new ones, and which ones it holds back. */
  async judge(definitions: readonly Definition[]): Promise<ReadonlyMap<string, Verdict>> {
    const { tools, held } = await this.#read();
    let room = MOST_KEPT - Object.keys(tools).length;
    const verdicts = new Map(
      definitions.map((definition): [string, Verdict] => {
        const known = Object.hasOwn(tools, definition.name) ? tools[definition.name] : undefined;
        if (known === undefined) return [definition.name, room-- > 0 ? 'new' : 'changed'];
        return [definition.name, known === definitionHash(definition) ? 'accepted' : 'changed'];
      }),
    );
    const of = (wanted: Verdict) => hashesOf(definitions.filter(({ name }) => verdicts.get(name) === wanted));
    const next = { tools: { ...tools, ...of('new') }, held: last({ ...held, ...of('changed') }) };
    if (canonicalJson(next) !== canonicalJson({ tools, held })) await this.#write(next);
    return verdicts;
  }

  /** Accepts the definitions that were held back, as they were judged. Resolves with the names of their tools. */
  async accept(): Promise<readonly string[]> {
    const { tools, held } = await this.#read();
    await this.#write({ tools: { ...tools, ...held }, held: {} });
    return Object.keys(held);
  }

  async #read(): Promise<Kept> {
    const nothing = { tools: {}, held: {} };
    try {
      const { target, ...kept } = fileSchema.parse(JSON.parse(await readFile(this.#file, 'utf8')));
      return target === this.#target ? kept : nothing;
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return nothing;
      throw new LangoError('storage', `${this.#file} cannot be read, so no tool of this server is offered.`, {
        hint: 'Delete the file to accept the tools as they are now.',
        cause: error,
      });
    }
  }

  async #write(kept: Kept): Promise<void> {
    await mkdir(dirname(this.#file), { recursive: true });
    const draft = `${this.#file}.new`;
    await writeFile(draft, JSON.stringify({ target: this.#target, ...kept }, null, 2), { mode: 0o600 });
    await rename(draft, this.#file);
  }
}

/** The last ones of a record. */
function last(hashes: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(hashes).slice(-MOST_KEPT));
}

function hashesOf(definitions: readonly Definition[]): Record<string, string> {
  return Object.fromEntries(definitions.map((definition) => [definition.name, definitionHash(definition)]));
}
