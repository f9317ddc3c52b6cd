/** Says of a name in the folder of a `.gitignore` whether its lines leave it out; undefined when none is about it. */
export type IgnoreRule = (relative: string, isFolder: boolean) => boolean | undefined;

const MOST_LINES = 1_000;
const LONGEST_LINE = 500;

/** The last line that fits decides, as in git. Lines that are too long are passed over. */
export function readIgnoreRules(text: string): IgnoreRule {
  const rules = text
    .split(/\r?\n/)
    .slice(0, MOST_LINES)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#') && line.length <= LONGEST_LINE)
    .map(toRule)
    .reverse();
  return (relative, isFolder) =>
    rules.find((rule) => (isFolder || !rule.isForFolders) && rule.pattern.test(relative))?.leavesOut;
}

function toRule(line: string) {
  const leavesOut = !line.startsWith('!');
  const isForFolders = line.endsWith('/');
  const body = line.replace(/^!/, '').replace(/\/$/, '');
  const isAnchored = body.includes('/');
  const source = body
    .replace(/^\//, '')
    .split(/(\*\*\/|\/\*\*|\*+|\?)/)
    .map(toSource)
    .join('');
  return { leavesOut, isForFolders, pattern: new RegExp(`^${isAnchored ? '' : '(?:.*/)?'}${source}$`, 'u') };
}

function toSource(part: string): string {
  if (part === '**/') return '(?:.*/)?';
  if (part === '/**') return '/.*';
  if (part === '?') return '[^/]';
  return /^\*+$/.test(part) ? '[^/]*' : part.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
