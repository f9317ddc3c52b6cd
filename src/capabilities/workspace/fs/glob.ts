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
        ? matches(pattern[0]!, segments.at(-1)!)
        : matches(pattern, segments),
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

/**
 * Matches the characters of a name, or the segments of a path. Backtracks to the last star only. That finds every match and
 * keeps the time from growing exponentially.
 */
function matches<Items extends string | readonly string[]>(pattern: Items, items: Items): boolean {
  const isName = typeof pattern === 'string';
  const any = isName ? '*' : '**';
  const matchesOne = (part: string, item: string): boolean =>
    isName ? part === '?' || part === item : matches(part, item);
  let star = -1;
  let starItem = 0;
  let at = 0;
  let index = 0;
  while (index < items.length) {
    if (pattern[at] === any) {
      star = at;
      starItem = index;
      at += 1;
    } else if (at < pattern.length && matchesOne(pattern[at]!, items[index]!)) {
      at += 1;
      index += 1;
    } else if (star !== -1) {
      starItem += 1;
      at = star + 1;
      index = starItem;
    } else {
      return false;
    }
  }
  while (pattern[at] === any) at += 1;
  return at === pattern.length;
}
