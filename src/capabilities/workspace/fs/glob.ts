/** Whether the filter accepts a path such as "folder/file.txt". */
export type PathFilter = (path: string) => boolean;

const ALTERNATIVES_MAX = 64;

/**
 * Compiles a glob pattern with `*`, `?`, `**` (any number of folders) and `{a,b}`. A pattern without "/" is matched
 * against the file name alone. A match takes at most time proportional to the length of the pattern times that of the path.
 */
export function globFilter(glob: string): PathFilter {
  const patterns = expandBraces(glob).map((pattern) => pattern.replace(/^\.?\//, '').split('/'));
  return (path) => {
    const segments = path.split('/');
    return patterns.some((pattern) =>
      pattern.length === 1 && pattern[0] !== '**'
        ? matchesName(pattern[0]!, segments.at(-1)!)
        : matchesPath(pattern, segments),
    );
  };
}

function expandBraces(glob: string): string[] {
  let patterns = [glob];
  for (;;) {
    const expanded = patterns.flatMap((pattern) => {
      const braces = /\{([^{}]*)\}/.exec(pattern);
      if (braces === null) return [pattern];
      const [whole, inner] = braces;
      const after = braces.index + whole.length;
      return inner!
        .split(',')
        .map((choice) => pattern.slice(0, braces.index) + choice + pattern.slice(after));
    });
    if (expanded.length > ALTERNATIVES_MAX || expanded.every((each, index) => each === patterns[index]))
      return patterns;
    patterns = expanded;
  }
}

/** `reached[i]`: whether the parts of the pattern so far match the first i segments. */
function matchesPath(pattern: readonly string[], segments: readonly string[]): boolean {
  let reached = [true, ...segments.map(() => false)];
  for (const part of pattern) {
    const next = reached.map(() => false);
    for (let index = 0; index <= segments.length; index += 1) {
      next[index] =
        part === '**'
          ? reached[index]! || (index > 0 && next[index - 1]!)
          : index > 0 && reached[index - 1]! && matchesName(part, segments[index - 1]!);
    }
    reached = next;
  }
  return reached.at(-1)!;
}

/** Backtracks to the last star only. That finds every match and keeps the time from growing exponentially. */
function matchesName(pattern: string, name: string): boolean {
  let star = -1;
  let starName = 0;
  let at = 0;
  let index = 0;
  while (index < name.length) {
    if (pattern[at] === '*') {
      star = at;
      starName = index;
      at += 1;
    } else if (at < pattern.length && (pattern[at] === '?' || pattern[at] === name[index])) {
      at += 1;
      index += 1;
    } else if (star !== -1) {
      starName += 1;
      at = star + 1;
      index = starName;
    } else {
      return false;
    }
  }
  while (pattern[at] === '*') at += 1;
  return at === pattern.length;
}
