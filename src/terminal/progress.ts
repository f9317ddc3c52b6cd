import { safeLine } from './safe-text.js';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const TICK_MS = 100;
const ERASE_LINE = '\r\u001b[2K';
/** The columns beside the label: frame, time, spaces. */
const MARGIN = 12;
const DEFAULT_COLUMNS = 80;

/** A progress line, shown while no other output is written. It shows nothing when the stream is no terminal. */
export class Progress {
  readonly #stream: NodeJS.WriteStream;
  #timer: NodeJS.Timeout | undefined;
  #label = '';
  #startedAt = 0;
  #frame = 0;
  #isHeld = false;
  #isShown = false;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  start(label: string): void {
    if (!this.#stream.isTTY) return;
    this.stop();
    this.#label = label;
    this.#startedAt = Date.now();
    this.#isHeld = false;
    this.#timer = setInterval(() => this.#draw(), TICK_MS);
  }

  label(text: string): void {
    this.#label = text;
  }

  /** Hides the line while `isHeld`, because other output is in the middle of a line. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
  }

  /** Erases the line until the next tick. */
  hide(): void {
    if (this.#isShown) this.#stream.write(ERASE_LINE);
    this.#isShown = false;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.hide();
  }

  #draw(): void {
    if (this.#isHeld) return;
    const seconds = Math.floor((Date.now() - this.#startedAt) / 1_000);
    const room = (this.#stream.columns || DEFAULT_COLUMNS) - MARGIN;
    this.#frame = (this.#frame + 1) % FRAMES.length;
    const text = `${FRAMES[this.#frame]} ${safeLine(this.#label, room)} ${seconds} s`;
    this.#stream.write(ERASE_LINE + text);
    this.#isShown = true;
  }
}
