import { describe, expect, it } from '@jest/globals';
import { LangoError } from '../../src/core/errors.js';
import { withChildrenElsewhere, type FindNode } from '../../src/owners/trace-across-nodes.js';

const span = (id: string, parent?: string, attributes: Record<string, string> = {}) => ({
  ...{ id, kind: 'client' as const, name: id, startedAt: 0, attributes },
  ...(parent !== undefined && { parent }),
});
const delegation = span('d', 'top', { 'gen_ai.agent.name': 'far', 'lango.child.task': 'child' });
const trace = {
  traceId: 't',
  isCut: false,
  spans: [span('top', undefined, { 'lango.task': 'own' }), delegation],
};
const answering =
  (read: () => typeof trace): FindNode =>
  () => ({ url: 'http://far.example/agents/far', client: async () => ({ readTrace: async () => read() }) });

describe('a trace over nodes', () => {
  it('includes from another node only the descendants of its task, and no id twice: a tree has no cycles', async () => {
    const spans = [
      span('far-top', 'anything'),
      span('a', 'far-top'),
      span('top', 'a'),
      span('d', 'far-top'),
      span('b', 'top'),
      span('far-top', 'a'),
      span('c', 'a'),
    ];
    const whole = await withChildrenElsewhere(
      trace,
      answering(() => ({ ...trace, spans })),
      1,
    );
    expect(whole.spans.slice(2).map(({ id, parent }) => [id, parent])).toEqual([
      ['far-top', 'd'],
      ['a', 'far-top'],
      ['c', 'a'],
    ]);
    expect(whole.spans[2]?.attributes).toEqual({ 'lango.node.url': 'http://far.example/agents/far' });
  });

  it('shows an address that only another node says as its claim, and one that is known here as it is', async () => {
    const below = (id: string, agent: string, url: string) =>
      span(id, 'far-top', { 'gen_ai.agent.name': agent, 'lango.node.url': url });
    const spans = [
      span('far-top'),
      below('a', 'vault', 'http://evil.example/agents/vault'),
      below('b', 'vault', 'http://vault.example.evil.example/agents/vault'),
      below('c', 'unknown', 'http://evil.example'),
      below('e', 'vault', 'http://vault.example/agents/vault'),
    ];
    const client = async () => ({ readTrace: async () => ({ ...trace, spans }) });
    const urls: Record<string, string> = {
      ...{ far: 'http://far.example', vault: 'http://vault.example/agents/vault' },
    };
    const whole = await withChildrenElsewhere(
      trace,
      (name) => (urls[name] ? { url: urls[name], client } : undefined),
      1,
    );
    const shown = (name: string) => whole.spans.slice(2).map(({ attributes }) => attributes[name]);
    expect(shown('lango.node.url')).toEqual([
      'http://far.example',
      undefined,
      undefined,
      undefined,
      'http://vault.example/agents/vault',
    ]);
    expect(shown('lango.node.claimed_url')).toEqual([
      undefined,
      'http://evil.example/agents/vault',
      'http://vault.example.evil.example/agents/vault',
      'http://evil.example',
      undefined,
    ]);
  });

  it('shows the rest when a node does not respond, and calls no node beyond the allowed levels', async () => {
    const fails = answering(() => {
      throw new LangoError('unavailable', 'gone');
    });
    expect(await withChildrenElsewhere(trace, fails, 1)).toEqual(trace);
    expect(
      await withChildrenElsewhere(
        trace,
        answering(() => ({ ...trace, spans: [span('x')] })),
        0,
      ),
    ).toEqual(trace);
  });

  it('is cut when other nodes send too many spans', async () => {
    const many = [span('far-top'), ...Array.from({ length: 11_000 }, (_, n) => span(`s${n}`, 'far-top'))];
    const whole = await withChildrenElsewhere(
      trace,
      answering(() => ({ ...trace, spans: many })),
      1,
    );
    expect([whole.spans.length, whole.isCut]).toEqual([10_000, true]);
  });
});
