import type { SettingsRule } from '../../core/capability.js';
import { finding } from '../../core/findings.js';
import type { KNOWLEDGE_SETTINGS } from './settings.js';

export const KNOWLEDGE_RULES: readonly SettingsRule<typeof KNOWLEDGE_SETTINGS>[] = [
  {
    keys: ['embedding.provider', 'embedding.apiKey', 'embedding.baseUrl', 'embedding.folder'],
    isForServersOnly: true,
    check({ embedding: { provider, apiKey, baseUrl, folder } }) {
      const at = ['embedding', 'provider'];
      const sent = apiKey === undefined ? [] : [{ path: ['embedding', 'baseUrl'], url: baseUrl }];
      if (provider === 'local' && folder === undefined)
        return { findings: finding(at, 'needs a model: set embedding.folder'), sent };
      if (provider === 'voyage' && apiKey === undefined)
        return { findings: finding(at, 'needs a key: set embedding.apiKey or VOYAGE_API_KEY'), sent };
      if (provider === 'openai' && apiKey === undefined && baseUrl === undefined) {
        const text =
          'needs a key or another server: set embedding.apiKey, OPENAI_API_KEY or embedding.baseUrl';
        return { findings: finding(at, text), sent };
      }
      return { sent };
    },
  },
  {
    keys: ['webSearch.provider', 'webSearch.apiKey', 'webSearch.baseUrl'],
    isForServersOnly: true,
    check({ webSearch: { provider, apiKey, baseUrl } }) {
      const at = ['webSearch', 'provider'];
      const sent = apiKey === undefined ? [] : [{ path: ['webSearch', 'baseUrl'], url: baseUrl }];
      if (provider === 'searxng' && baseUrl === undefined)
        return { findings: finding(at, 'needs an address: set webSearch.baseUrl'), sent };
      if (provider === 'brave' && apiKey === undefined)
        return { findings: finding(at, 'needs a key: set webSearch.apiKey'), sent };
      return { sent };
    },
  },
];
