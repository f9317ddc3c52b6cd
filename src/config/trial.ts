import { join } from 'node:path';
import { newId } from '../core/ids.js';
import type { LoadedConfig } from './load.js';

/**
 * The configuration of a second server: on a free loopback port, with an embedded database, a workspace and all else that
 * it keeps in this folder, and with a token of its own.
 */
export function trialConfig(loaded: LoadedConfig, folder: string): LoadedConfig {
  const { config, secrets } = loaded;
  const { server } = config;
  return {
    ...loaded,
    config: {
      ...config,
      a2a: { ...config.a2a, baseUrl: undefined },
      mcp: { serve: false },
      home: folder,
      auth: { ...config.auth, mode: 'token' },
      server: {
        ...server,
        host: '127.0.0.1',
        port: 0,
        grpc: { ...server.grpc, port: 0 },
        tls: { minVersion: server.tls.minVersion },
      },
      storage: { ...config.storage, sqlite: { ...config.storage.sqlite, file: join(folder, 'lango.db') } },
      workspace: [join(folder, 'workspace')],
    },
    secrets: { ...secrets, token: newId(), databaseUrl: undefined },
  };
}
