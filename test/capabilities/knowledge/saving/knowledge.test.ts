import { openSqliteStores, type AllStores } from '../../../../lab/all-stores.js';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { silentLogger } from '../../../../src/core/logger.js';
import { createKnowledgeTools } from '../../../../src/capabilities/knowledge/saving/index.js';
import { Retrieval } from '../../../../src/capabilities/knowledge/rag/retrieval.js';
import { callerOf } from '../../../support/tool-call.js';

const ALICE = { tenant: '', owner: 'alice' };

describe('the tools that keep knowledge', () => {
  let storage: AllStores;
  let call: ReturnType<typeof callerOf>;
  beforeEach(() => {
    storage = openSqliteStores({ file: ':memory:', synchronous: 'normal', logger: silentLogger });
    const { library, knowledge: store } = storage;
    const onAdded = () => undefined;
    const retrieval = new Retrieval({ library, embedder: undefined, onAdded, logger: silentLogger });
    call = callerOf(createKnowledgeTools({ store, retrieval, maxCharacters: 1_000 }));
  });
  afterEach(() => storage.close());

  const versions = async (key: string) => storage.knowledge.versions(ALICE, { kind: 'knowledge', key }, 10);

  it('store one version for each call, also when a call is repeated', async () => {
    const input = { key: 'deploy-key', content: 'rotates on Fridays' };
    await call('save_knowledge', input, { key: '1'.repeat(64) });
    await call('save_knowledge', input, { key: '1'.repeat(64) });
    expect(await versions('deploy-key')).toHaveLength(1);
    await call('save_knowledge', input, { key: '2'.repeat(64) });
    expect(await versions('deploy-key')).toHaveLength(2);
  });

  it('mark outside text: by the argument, by the address, and when the task has read outside text', async () => {
    await call('save_knowledge', { key: 'own', content: 'x' }, { key: 'a' });
    await call('save_knowledge', { key: 'said', content: 'x', fromOutside: true }, { key: 'b' });
    await call('save_knowledge', { key: 'page', content: 'x', source: 'https://a.example/b' }, { key: 'c' });
    await call('save_knowledge', { key: 'read', content: 'x' }, { key: 'd', hasReadOutside: true });
    const marks = await Promise.all(
      ['own', 'said', 'page', 'read'].map(async (key) => (await versions(key))[0]?.provenance.fromOutside),
    );
    expect(marks).toEqual([false, true, true, true]);
  });

  it('refuse long and unknown values, and store nothing', async () => {
    await expect(call('save_knowledge', { key: 'k', content: 'x'.repeat(1_001) })).rejects.toThrow();
    await expect(call('save_knowledge', { key: 'k', content: 'x', owner: 'bob' })).rejects.toThrow();
    expect(await versions('k')).toEqual([]);
  });
});
