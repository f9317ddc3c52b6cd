import { createPeerCredential } from '../../src/a2a/client/peer-credential.js';
import { readEnv } from '../../src/config/env.js';
import { resolveConfig } from '../../src/config/load.js';
import { usedRemoteAgents } from '../../src/config/remote-agents.js';
import type { SettingsInput } from '../../src/config/schema.js';
import type { PeerCredential } from '../../src/core/credential.js';
import { silentLogger } from '../../src/core/logger.js';
import { noSecrets } from '../../src/core/secrets.js';
import { createEgress } from '../../src/http/egress.js';
import { createTokenRequest } from '../../src/http/oauth-client.js';

/** The credential for the first remote agent of these settings, made as a node makes it. */
export function peerCredential(settings: SettingsInput, home: string, logger = silentLogger): PeerCredential {
  const a2a = { enabled: true, ...settings.a2a };
  const loaded = resolveConfig({ env: readEnv({}), overrides: { home }, settings: { ...settings, a2a } });
  const allowed = loaded.config.egress.allowPrivate;
  return createPeerCredential(usedRemoteAgents(loaded)[0]!, {
    guard: noSecrets,
    owner: { tenant: '', owner: 'default' },
    hidden: new Set(),
    createFetch: ({ allowPrivate = [], ...options }) =>
      createEgress({ ...options, allowPrivate: [...allowed, ...allowPrivate], logger }),
    createTokenRequest,
    timeoutMs: 1_000 * loaded.config.a2a.connectSeconds,
  })!;
}
