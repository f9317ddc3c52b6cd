import { afterAll, describe, expect, it } from '@jest/globals';
import { closeStage } from './strict-vendor.js';

/** One way in which a vendor, an MCP server or a peer departs from what a client expects, and what Lango does then. */
export interface Quirk {
  /** Unique in all tables: "cut-calls-3". */
  readonly id: string;
  /** The number of its class in the table of docs/reference/models.md. */
  readonly class: number;
  readonly wire: QuirkWire;
  /** The vendor or server that does it: "DeepSeek", "vLLM", "OpenAI". */
  readonly vendor: string;
  /** The public report, as "owner/repo#123", or the page of the vendor by its name. */
  readonly source: string;
  /** The habit of the vendor, as one sentence. */
  readonly quirk: string;
  /** The right behaviour of Lango, as one sentence. It is the title of the test. */
  readonly right: string;
  /** Fails when Lango does anything else. */
  check(): Promise<void>;
}

type QuirkWire = 'Chat Completions' | 'Responses' | 'Messages' | 'AI SDK' | 'MCP' | 'A2A' | 'environment';

/** Makes one test of each case, and ends the servers that they share. */
export function describeQuirks(title: string, quirks: readonly Quirk[]): void {
  describe(title, () => {
    afterAll(closeStage);

    it('has ids that are unique', () => {
      expect(new Set(quirks.map(({ id }) => id)).size).toBe(quirks.length);
    });

    it.each(quirks.map((one) => [`${one.id} (${one.wire}, ${one.vendor}): ${one.right}`, one] as const))(
      '%s',
      (_, one) => one.check(),
    );
  });
}
