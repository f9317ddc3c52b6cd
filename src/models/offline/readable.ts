import { isJsonObject, type Json } from '../../core/json.js';
import { nameWords } from './kinds.js';

/** Members that hold what a result is about, where it also holds things about it (exit code, size, path). */
const BODY_MEMBERS = [
  'content',
  'text',
  'stdout',
  'output',
  'result',
  'answer',
  'matches',
  'entries',
  'items',
];
const DEEPEST_LEVEL = 20;

/** A result for a person: text as it is, JSON as lines of words. Never throws. */
export function readable(content: string): string {
  const value = parseJson(content);
  return value === undefined ? content.trimEnd() : describe(value, 0);
}

/** What "it" or "the result" means after this result: only what it is about. */
export function bodyOf(content: string): string {
  const value = parseJson(content);
  if (value === undefined) return content;
  if (isJsonObject(value)) {
    const body = BODY_MEMBERS.map((name) => value[name]).find((member) => !isEmpty(member));
    if (body !== undefined) return typeof body === 'string' ? body : describe(body, 0);
  }
  return describe(value, 0);
}

function parseJson(content: string): Json | undefined {
  if (!/^\s{0,20}[{[]/.test(content)) return undefined;
  try {
    return JSON.parse(content) as Json;
  } catch {
    return undefined;
  }
}

function describe(value: Json | undefined, level: number): string {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'object') return String(value).trimEnd();
  if (level >= DEEPEST_LEVEL) return '…';
  if (isJsonObject(value)) {
    const members = Object.entries(value).filter(([, member]) => !isEmpty(member));
    return members.map(([name, member]) => describeMember(name, describe(member, level + 1))).join('\n');
  }
  return value.map((item) => describeItem(item, level + 1)).join('\n');
}

function describeItem(item: Json, level: number): string {
  if (!isJsonObject(item)) return `- ${describe(item, level)}`;
  const members = Object.entries(item).filter(([, member]) => !isEmpty(member));
  const parts = members.map(([name, member]) => `${label(name)}: ${describe(member, level)}`);
  return `- ${parts.join(', ')}`;
}

function describeMember(name: string, text: string): string {
  return text.includes('\n') ? `${label(name)}:\n${text}` : `${label(name)}: ${text}`;
}

function label(name: string): string {
  return nameWords(name).join(' ');
}

function isEmpty(value: Json | undefined): boolean {
  if (value === null || value === undefined || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
