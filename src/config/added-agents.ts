import type { Path } from '../core/findings.js';
import { join } from 'node:path';
import { LangoError } from '../core/errors.js';
import { parseJson } from '../core/json.js';
import { isGroup } from './layers.js';
import { PrivateFile } from '../disk/private-file.js';
import type { Source } from './text-source.js';

const HINT = 'Correct the file, or delete it and add its agents again.';

/** An entry of `a2a.remoteAgents` before its check. */
export type AddedAgent = Readonly<Record<string, unknown>> & { readonly name: string };

/** The remote agents that `lango agents add` added, in a file of the data folder that only this user can read, as it holds tokens. */
export class AddedAgents {
  readonly #file: PrivateFile;

  constructor(home: string) {
    const title = 'list of added agents';
    this.#file = new PrivateFile(fileIn(home), { title, hint: HINT, createsFolder: true });
  }

  /** Lists the agents in the order in which they were added. Rejects with `invalid-config` when the file is no such list. */
  async read(): Promise<readonly AddedAgent[]> {
    const text = await this.#file.load();
    if (text === undefined) return [];
    const list = parseJson(text);
    if (Array.isArray(list) && list.every(isNamed)) return list;
    const message = `${this.#file.path} does not contain a list of agents.`;
    throw new LangoError('invalid-config', message, { hint: HINT });
  }

  async replace(agents: readonly AddedAgent[]): Promise<void> {
    await this.#file.replace(`${JSON.stringify(agents, undefined, 2)}\n`);
  }
}

/**
 * Appends the added agents to those of the configuration file. An agent of the file hides an added one of the same name.
 * With added agents, `a2a.enabled` is true unless the file sets it. Their problems are located in their file in `home`.
 */
export function withAddedAgents(source: Source, added: readonly AddedAgent[], home: string): Source {
  const values = source.values ?? {};
  if (!isGroup(values)) return source;
  const { a2a = {}, ...others } = values;
  const { remoteAgents: listed = [] } = isGroup(a2a) ? a2a : {};
  if (!isGroup(a2a) || !Array.isArray(listed)) return source;
  const names = new Set(listed.map((agent: unknown) => (isNamed(agent) ? agent.name : undefined)));
  const rest = added.filter(({ name }) => !names.has(name));
  if (rest.length === 0) return source;
  const isAdded = ([group, list, index]: Path): boolean =>
    group === 'a2a' && list === 'remoteAgents' && Number(index) >= listed.length;
  return {
    ...source,
    values: { ...others, a2a: { enabled: true, ...a2a, remoteAgents: [...(listed as unknown[]), ...rest] } },
    locate: (path, about) => (isAdded(path) ? fileIn(home) : source.locate(path, about)),
  };
}

const fileIn = (home: string): string => join(home, 'added-agents.json');

const isNamed = (value: unknown): value is AddedAgent => isGroup(value) && typeof value['name'] === 'string';
