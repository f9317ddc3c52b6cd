/** The ways in which vendors name the window in a refusal, the most exact first. */
const NAMED: readonly RegExp[] = [
  // llama.cpp: "n_ctx":256, "n_keep: 10247 >= n_ctx: 4096"
  /n_ctx\W{0,4}(\d+)/,
  // "prompt is too long: 208310 tokens > 200000 maximum", "190000 + 20000 > 200000"
  /> ?(\d[\d,]*)/,
  // "maximum context length is 32768 tokens", "maximum prompt length is 131072", "maximum model length of 8192"
  /max\w* (?:context|prompt|model|input|sequence|allowed)? ?(?:length|window|size|tokens?)\D{0,30}?(\d[\d,]*)/i,
  // "exceeds the maximum number of tokens allowed (1048576)"
  /allowed\D{0,10}(\d[\d,]*)/i,
  // "model with 32768 maximum context length"
  /(\d[\d,]*) max\w* (?:context|prompt|input)/i,
  // "the available context size (4096 tokens)", "context length is only 4096 tokens"
  /context (?:length|window|size|limit)\D{0,30}?(\d[\d,]*)/i,
  // "Range of input length should be [1, 30720]"
  /\[1, ?(\d[\d,]*)\]/,
  // "Current length is 8300 while limit is 8192", "Max size: 8000 tokens", "cannot exceed 4081"
  /(?:limit(?: is| of|:)?|max size:|cannot exceed|exceeds? the limit of) ?(\d[\d,]*)/i,
];

/** MiniMax: "context window exceeds limit (2013)". */
const ERROR_CODE = /exceeds limit \(\d+\)/i;

/** Numbers outside of this range are no windows of a model. */
const SMALLEST = 256;
const LARGEST = 20_000_000;
const LONGEST = 4_000;

/** Returns the context window, in tokens, that the body of a vendor names when it refuses a request that is too long. */
export function windowIn(body: unknown): number | undefined {
  const whole = typeof body === 'string' ? body : (JSON.stringify(body) ?? '');
  const text = whole.slice(0, LONGEST).replace(ERROR_CODE, '');
  for (const words of NAMED) {
    const window = Number(words.exec(text)?.[1]?.replaceAll(',', ''));
    if (window >= SMALLEST && window <= LARGEST) return window;
  }
  return undefined;
}
