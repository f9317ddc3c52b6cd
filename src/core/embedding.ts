/** Turns texts into vectors whose angle says how near their meanings are. One implementation per vendor. */
export interface EmbeddingProvider {
  /** Vendor and model, such as "openai/text-embedding-3-small": vectors of different ids cannot be compared. */
  readonly id: string;
  /** How many texts one call takes at most. */
  readonly batch: number;
  /**
   * A vector of length 1 for each text, in order, all of one dimension. Some models make other vectors of what is
   * searched for than of what is searched. Rejects with `unavailable`, `timeout`, `invalid-config` (wrong key, no such
   * model) or with the signal's reason.
   */
  embed(
    texts: readonly string[],
    purpose: 'document' | 'query',
    signal: AbortSignal,
  ): Promise<readonly Float32Array[]>;
  /** Gives back what it holds. */
  close?(): Promise<void>;
}
