import { describe, expect, it } from '@jest/globals';
import { ATTACKS } from '../../lab/abuse/fuzz/attacks.js';
import { fuzz } from '../../lab/abuse/fuzz/fuzz.js';
import { Ledger } from '../../lab/abuse/fuzz/ledger.js';
import { StolenTime } from '../../lab/abuse/fuzz/stolen-time.js';
import { unheld } from '../support/watchdog.js';

/** `npm run campaigns` fuzzes longer. */
const [SECONDS, REQUESTS] = process.env['LANGO_CAMPAIGN'] === '1' ? [60, 4_000] : [15, 600];

describe('npm run abuse -- fuzz for a short while', () => {
  it('finds no crash, no rejection, no 5xx, no HTML and no stack, and each response matches storage', async () => {
    const { findings, transports, statuses, tasks } = await fuzz({
      seed: 7,
      seconds: SECONDS,
      requests: REQUESTS,
      slowMs: 10_000,
    });
    expect(findings).toEqual([]);
    // The run was real: every kind of attack was sent, and responses of every kind came.
    expect(Object.keys(transports).sort()).toEqual(Object.keys(ATTACKS).sort());
    expect(Object.keys(statuses)).toEqual(
      expect.arrayContaining(['200', '400', 'OK', 'INVALID_ARGUMENT', 'NOT_FOUND']),
    );
    expect(tasks.told).toBeGreaterThan(20);
    expect(tasks.stored).toBeGreaterThanOrEqual(tasks.told);
    expect(tasks.messages).toBeGreaterThan(tasks.stored);
  });
});

describe('a finding of the fuzzer', () => {
  /** The beginning of a finding, by its transport; for other transports only that there is one. */
  const HTTP = /ms to POST \/\S* \{/;
  const GRPC = /ms to \/\S* \{/;
  const SENT: Readonly<Record<string, RegExp>> = {
    'JSON-RPC': HTTP,
    'HTTP+JSON': HTTP,
    gRPC: GRPC,
    'gRPC frames': GRPC,
  };

  it('shows the request, shortened', async () => {
    const { findings } = await fuzz({ seed: 3, seconds: 20, requests: 30, slowMs: -1 });
    expect(findings).toHaveLength(20);
    for (const finding of findings) {
      const way = finding.slice(0, finding.indexOf(' #'));
      expect([way, finding]).toEqual([way, expect.stringMatching(SENT[way] ?? /ms to ["A-Z]/)]);
      expect(finding.length).toBeLessThan(1_200);
    }
  });
});

describe('the time that the machine steals from the fuzzer', () => {
  function left(work: () => void): number {
    using stolen = new StolenTime();
    const begun = performance.now();
    work();
    return performance.now() - begun - stolen.ms;
  }

  it('counts while the process is stopped and does nothing', () => {
    const nothing = new Int32Array(new SharedArrayBuffer(4));
    expect(left(() => void Atomics.wait(nothing, 0, 0, 1_000))).toBeLessThan(500);
  });

  it('does not count while the process works', () => {
    const begun = process.cpuUsage();
    const work = (): void => {
      while (process.cpuUsage(begun).user < 400_000);
    };
    expect(left(work)).toBeGreaterThan(300);
  });
});

describe('the watchdog of the event loop', () => {
  it.each([
    // A busy machine may take several times as long for the same work, so a smaller amount could go unnoticed.
    ['work', (): void => spend(1_000)],
    ['a wait', (): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_100)],
  ])('reports one that is blocked by %s twice', async (_, hold) => {
    await expect(unheld(async () => hold())).rejects.toThrow(
      /^the event loop was held for .*, and again for /,
    );
  });

  it('does not report a block that does not recur', async () => {
    let runs = 0;
    const { result } = await unheld(async () => {
      runs += 1;
      if (runs === 1) spend(150);
      return runs;
    });
    expect(result).toBe(1);
  });

  function spend(ms: number): void {
    const begun = process.threadCpuUsage();
    for (let spent = 0; spent < ms * 1_000;) {
      const { user, system } = process.threadCpuUsage(begun);
      spent = user + system;
    }
  }
});

describe('the ledger of the fuzzer', () => {
  const answered = { id: 't', status: { state: 'TASK_STATE_COMPLETED' } };
  const sent = JSON.stringify({ params: { message: { messageId: 'm"1' } } });
  const stored = { id: 't', state: 'completed', messageIds: ['m"1'] };

  function found(outcome: object, tasks: readonly (typeof stored)[]): readonly string[] {
    const ledger = new Ledger();
    ledger.note({ status: 200, text: '', sent, ...outcome });
    return ledger
      .compare(tasks)
      .map((finding) => finding.replace(/^task t (was told as completed and )?/, ''));
  }

  it.each([
    ['an answer of HTTP+JSON', { task: answered }],
    ['an answer of JSON-RPC', { jsonrpc: '2.0', id: 1, result: { task: answered } }],
    ['an answer of 0.3', { id: 1, result: { kind: 'task', id: 't', status: { state: 'completed' } } }],
  ])('reads the task in %s', (_what, json) => {
    const text = JSON.stringify(json);
    expect(found({ text }, [stored])).toEqual([]);
    expect(found({ text: `id: 1\ndata: ${text}\n\n` }, [])).toEqual(['is not stored']);
    expect(found({ text }, [{ ...stored, state: 'failed' }])).toEqual(['is stored as failed']);
  });

  it.each([400, 200, 'INVALID_ARGUMENT'])(
    'reports a message that was refused with %s, and is stored',
    (status) => {
      expect(found({ status, text: '{"error":{}}' }, [stored])).toEqual([
        'is stored with m"1, which was refused',
      ]);
      expect(found({ status, text: '{"error":{}}' }, [])).toEqual([]);
    },
  );

  it('reports a refused message in a known task, and a task that no response had', () => {
    const other = { ...answered, id: 'o' };
    expect(found({ status: 400 }, [{ ...stored, messageIds: ['first', 'm"1'] }])).toHaveLength(1);
    expect(
      found({ text: JSON.stringify({ task: other }), sent: '' }, [stored, { ...stored, id: 'o' }]),
    ).toEqual(['is stored and was told to nobody']);
  });

  it.each([204, 'cut', 'DEADLINE_EXCEEDED'])(
    'accepts either outcome of a message with the status %s',
    (status) => {
      expect(found({ status }, [stored])).toEqual([]);
      expect(found({ status }, [])).toEqual([]);
    },
  );
});
