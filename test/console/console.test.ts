import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { openConsole } from '../../src/console/console.js';

function consoleAt(host: string, enabled?: boolean) {
  const settings = {
    console: { enabled, oidc: { scope: 'openid' } },
    server: { host },
    auth: { mode: 'token', jwt: {} },
  };
  return openConsole(settings, { folder: '/pages', createFetch: () => fetch });
}

describe('the console', () => {
  it.each(['127.0.0.1', '::1', 'localhost'])('is on at %s, which only this machine reaches', (host) => {
    expect(consoleAt(host)?.claims('/console/')).toBe(true);
    expect(consoleAt(host, false)).toBeUndefined();
  });

  it.each(['0.0.0.0', '192.0.2.1', 'agents.example'])('is off at %s, unless the settings say', (host) => {
    expect(consoleAt(host)).toBeUndefined();
    expect(consoleAt(host, true)?.claims('/console/')).toBe(true);
  });

  it('takes each distance, size of text, corner and color of its style sheet from one scale', async () => {
    const css = await readFile(new URL('../../src/console/web/console.css', import.meta.url), 'utf8');
    const [, tokens = '', rules = ''] = /^[^{]*:root \{([^}]*)\}(.*)$/s.exec(css) ?? [];
    const inTokens = [...tokens.matchAll(/(--[a-z-]+)(?:-\d)?: ([^;]+);/g)];
    const scales = new Set(inTokens.map(([, name]) => name!));
    expect(scales.size).toBeGreaterThan(15);
    const colors = inTokens.filter(([, , value]) => !/^[\d.]+rem$/.test(value!));
    for (const [line] of colors) expect(line).toMatch(/^--[\w-]+: light-dark\(#\w+, #\w+\);$/);
    const others = [...rules.matchAll(/^ +([a-z-]+): ([^;{]+);$/gm)].filter(
      ([, name, value]) => !ALLOWED.find(([names]) => names.test(name!))![1].test(value!),
    );
    expect(others.map(([line]) => line.trim())).toEqual([]);
  });
});

const token = (kind: string) => String.raw`var\(--${kind}-\d\)`;
const all = (one: string) => new RegExp(`^(?:(?:${one})(?: |$))+$`);
const distance = `0|auto|${token('space')}`;
const calculated = String.raw`(?:calc|max)\((?:-1 \* |var\(--names\) \+ )?${token('space')}(?:, env\([a-z-]+\))?\)`;

/** The values that a property may have, by the first of these that has its name. */
const ALLOWED: readonly (readonly [RegExp, RegExp])[] = [
  [/^(?:margin|padding|gap|inset)/, all(`${distance}|${calculated}`)],
  [/^(?:top|right|bottom|left)$/, all(`${distance}|50%`)],
  [/^font-size$/, all(token('text'))],
  [/^font$/, /^inherit$/],
  [/radius$/, all(`0|${token('round')}`)],
  [/./, /^(?!.*(?:#[\da-f]{3}|\b(?:rgb|hsl|lch|oklch|light-dark|white|black|red|gr[ae]y)\b))/],
];
