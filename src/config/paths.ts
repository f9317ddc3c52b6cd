import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { HOME_MARK } from './fields.js';
import type { Settings } from './schema.js';

export interface Places {
  /** The data folder, absolute. */
  readonly home: string;
  /** The file that was read, absolute; undefined when there is none. */
  readonly configFile: string | undefined;
}

const TLS_FILES = ['certFile', 'keyFile', 'clientCaFile', 'crlFile'] as const;

/** The settings with every path absolute: relative ones start at the configuration file's folder. */
export function withPaths(settings: Settings, places: Places): Settings {
  const base = places.configFile === undefined ? places.home : dirname(places.configFile);
  const toPath = (path: string): string => {
    if (path.startsWith(HOME_MARK)) return join(places.home, path.slice(HOME_MARK.length));
    if (path === '~' || path.startsWith('~/')) return join(homedir(), path.slice(1));
    return resolve(base, path);
  };
  const { agent, auth, embedding, logging, server, storage, tools, workspace, vault } = settings;
  const { file } = storage.sqlite;
  return {
    ...settings,
    agent: {
      ...agent,
      ...(agent.promptFolder === undefined ? {} : { promptFolder: toPath(agent.promptFolder) }),
    },
    auth: { ...auth, jwt: withFiles(auth.jwt, ['jwksFile'], toPath) },
    server: { ...server, tls: withFiles(server.tls, TLS_FILES, toPath) },
    logging: withFiles(logging, ['auditFile'], toPath),
    embedding: {
      ...embedding,
      ...(embedding.folder === undefined ? {} : { folder: toPath(embedding.folder) }),
    },
    storage: { sqlite: { ...storage.sqlite, file: file === ':memory:' ? file : toPath(file) } },
    workspace: workspace.map(toPath),
    tools: { ...tools, skills: { ...tools.skills, folders: tools.skills.folders.map(toPath) } },
    vault: { ...vault, keyFile: toPath(vault.keyFile) },
  };
}

/** The group with those of `keys` that are set made absolute. */
function withFiles<Key extends string, Group extends { readonly [K in Key]?: string | undefined }>(
  group: Group,
  keys: readonly Key[],
  toPath: (path: string) => string,
): Group {
  const files = keys.flatMap((key) => {
    const file: string | undefined = group[key];
    return file === undefined ? [] : [[key, toPath(file)]];
  });
  return { ...group, ...(Object.fromEntries(files) as object) };
}
