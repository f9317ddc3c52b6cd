/** Turns a text into a few lines: what is worth remembering of it, or what it says. */
export interface Distiller {
  /** A model's id: it stands beside what was made. */
  readonly by: string;
  /**
   * The lines that `instruction` asks for. The text is data, whatever stands in it. Rejects with code `model` when
   * there is no usable answer, with `unavailable` when the model cannot be asked, and with the signal's reason after an
   * abort.
   */
  distill(request: DistillRequest): Promise<readonly string[]>;
}

export interface DistillRequest {
  readonly instruction: string;
  readonly text: string;
  readonly signal: AbortSignal;
}
