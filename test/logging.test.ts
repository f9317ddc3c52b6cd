import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { LangoError } from '../src/core/errors.js';
import type { LoggerOptions } from '../src/logging.js';
import { createLogger } from '../src/logging.js';

function newLog(options: Partial<LoggerOptions> & { isTTY?: boolean } = {}) {
  const { isTTY = false, ...others } = options;
  const stream = Object.assign(new PassThrough(), { isTTY });
  const logger = createLogger({ level: 'info', format: 'auto', color: false, stream, ...others });
  const text = (): string => (stream.read() as Buffer | null)?.toString('utf8') ?? '';
  const lines = () =>
    text()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { logger, stream, text, lines };
}

describe('createLogger', () => {
  it('writes JSON lines without a terminal', () => {
    const { logger, lines } = newLog();
    logger.info('started', { port: 4100, agents: ['a', 'b'] });
    logger.warn('skipped %s', { message: 'other', level: 'x', time: 'y' });
    const [first, second] = lines();
    expect(first).toMatchObject({ level: 'info', message: 'started', port: 4100, agents: ['a', 'b'] });
    expect(new Date(first?.['time'] as string).getTime()).not.toBeNaN();
    expect(second).toMatchObject({ level: 'warn', message: 'skipped %s' });
  });

  it('writes readable lines on a terminal', () => {
    const { logger, text } = newLog({ isTTY: true });
    logger.info('started', { port: 4100, url: 'http://127.0.0.1:4100', why: 'two words' });
    expect(text()).toMatch(
      /^\d\d:\d\d:\d\d info {2}started port=4100 url=http:\/\/127\.0\.0\.1:4100 why="two words"\n$/,
    );
  });

  it('uses the format of the option on any stream', () => {
    const pretty = newLog({ format: 'pretty' });
    pretty.logger.info('x');
    expect(pretty.text()).toMatch(/info {2}x\n$/);
    const json = newLog({ format: 'json', isTTY: true });
    json.logger.info('x');
    expect(json.lines()).toMatchObject([{ message: 'x' }]);
  });

  it('leaves out lines below the level', () => {
    const { logger, lines } = newLog({ level: 'warn' });
    logger.debug('a');
    logger.info('b');
    logger.warn('c');
    logger.error('d');
    expect(lines().map(({ message }) => message)).toEqual(['c', 'd']);
  });

  it('creates children that add their fields to every line, the nearest first', () => {
    const { logger, lines } = newLog();
    const child = logger.child({ taskId: 't', agent: 'a' }).child({ agent: 'b' });
    child.info('x', { step: 1 });
    logger.info('y');
    const [first, second] = lines();
    expect(first).toMatchObject({ taskId: 't', agent: 'b', step: 1 });
    expect(second).not.toHaveProperty('taskId');
  });

  it('colors only on a terminal with colors', () => {
    const escape = '\u001b[';
    const logOf = (options: Parameters<typeof newLog>[0]) => {
      const { logger, text } = newLog(options);
      logger.error('x', { a: 1 });
      return text();
    };
    expect(logOf({ isTTY: true, color: true })).toContain(escape);
    expect(logOf({ isTTY: true, color: false })).not.toContain(escape);
    expect(logOf({ format: 'pretty', color: true })).not.toContain(escape);
  });
});

describe('an error in a log', () => {
  const error = new LangoError('storage', 'disk full', { cause: new TypeError('inner') });

  it.each(['pretty', 'json'] as const)('has no stack on a terminal below debug (%s)', (format) => {
    const { logger, text } = newLog({ isTTY: true, format });
    logger.error('failed', { error });
    const line = text();
    expect(line).toContain('disk full');
    expect(line).not.toContain('logging.test');
  });

  it('has its stack on a terminal at debug, and in every JSON log', () => {
    const debug = newLog({ isTTY: true, level: 'debug' });
    debug.logger.error('failed', { error });
    expect(debug.text()).toContain('logging.test');
    const file = newLog();
    file.logger.error('failed', { error });
    expect(file.lines()).toMatchObject([
      {
        error: {
          name: 'LangoError',
          code: 'storage',
          message: 'disk full',
          stack: expect.stringContaining('logging.test') as unknown,
          cause: { name: 'TypeError', message: 'inner' },
        },
      },
    ]);
  });
});

describe('the text of a log', () => {
  const secret = 's3cr"et/+value';
  const forms = [
    secret,
    encodeURIComponent(secret),
    ...(['base64', 'base64url', 'hex'] as const).map((encoding) => Buffer.from(secret).toString(encoding)),
  ];

  it.each(['pretty', 'json'] as const)('holds no secret, in any place and form (%s)', (format) => {
    const { logger, text } = newLog({ format, secrets: new Set([secret, 'abc']) });
    for (const form of forms) {
      logger.child({ [`key ${form}`]: form }).error(`message ${form}`, {
        error: new Error(`thrown ${form}`, { cause: { deep: [form] } }),
        url: new URL(`http://127.0.0.1/?k=${form}`),
      });
    }
    const written = text();
    for (const form of forms) {
      expect(written).not.toContain(form);
      expect(written).not.toContain(JSON.stringify(form).slice(1, -1));
    }
    expect(written.split('[redacted]').length).toBeGreaterThan(forms.length * 5);
  });

  it('hides values that overlap, begin alike or contain each other', () => {
    const { logger, lines } = newLog({ secrets: new Set(['abcd', 'bcdefgh', 'abcdef', 'abcx']) });
    logger.info('abcdefgh, abcdefg, abcx, abcdabcd, xabcdx, abc');
    const hidden = '[redacted]';
    expect(lines()).toMatchObject([
      { message: `${hidden}, ${hidden}g, ${hidden}, ${hidden}${hidden}, x${hidden}x, abc` },
    ]);
  });

  it('keeps values that are too short to be told from text', () => {
    const { logger, lines } = newLog({ secrets: new Set(['', 'a']) });
    logger.info('a plain line');
    expect(lines()).toMatchObject([{ message: 'a plain line' }]);
  });

  it('has characters escaped that could break a line or control a terminal', () => {
    const { logger, text } = newLog({ isTTY: true });
    logger.info('one\ntwo\u001b[2J\u009b', { 'k\u0007': 'v\r\u202e\u2028' });
    expect(text()).toMatch(/info {2}one\\u000atwo\\u001b\[2J\\u009b k\\u0007="v\\r\\u202e\\u2028"\n$/);
  });
});

describe('a logger', () => {
  it('writes values that JSON cannot hold', () => {
    const { logger, lines } = newLog();
    const circle: Record<string, unknown> = { name: 'c' };
    circle['self'] = circle;
    logger.info('odd', {
      circle,
      big: 12n,
      call: () => 1,
      none: undefined,
      at: new Date(0),
      never: new Date(NaN),
      bytes: Buffer.from('abc'),
      map: new Map([[1, { a: 2 }]]),
      deep: { a: { b: { c: { d: { e: { f: 1 } } } } } },
    });
    const broken = {
      get a(): never {
        throw new Error('no');
      },
    };
    logger.info('throws', { broken, other: 1 });
    const [first, second] = lines();
    expect(second).toMatchObject({ broken: '[unreadable]', other: 1 });
    expect(first).toMatchObject({
      circle: { name: 'c', self: '[…]' },
      big: '12',
      call: '[function]',
      at: '1970-01-01T00:00:00.000Z',
      never: null,
      bytes: '[3 bytes]',
      map: { 1: { a: 2 } },
    });
    expect(JSON.stringify(first)).toContain('"e":"[…]"');
  });

  it('survives a closed stream', () => {
    const { logger, stream } = newLog();
    stream.destroy(new Error('EPIPE'));
    expect(() => logger.info('x')).not.toThrow();
  });
});
