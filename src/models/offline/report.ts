import { cutText } from '../../core/text.js';

/** What became of a request. */
export interface Report {
  readonly done: readonly Entry[];
  readonly failed: readonly Entry[];
  /** Sentences that were not begun because something before them failed. */
  readonly notDone: readonly string[];
  readonly unknown: readonly string[];
  /** Answers to small talk in the same message. */
  readonly replies: readonly string[];
  readonly attachments: readonly string[];
}

export interface Entry {
  /** What was asked for, or who answered. */
  readonly heading: string;
  readonly text: string;
}

const LONGEST_HEADING = 100;
/** Share of the answer that results may take; the rest is for the words round them. */
const RESULT_SHARE = 0.8;
const CUT_ADVICE = 'ask for a part of it to see the rest';

/** A short plain account, results included, in about `limitBytes` at most. */
export function writeReport(report: Report, limitBytes: number): string {
  const count = report.done.length + report.failed.length;
  const share = Math.floor((limitBytes * RESULT_SHARE) / Math.max(1, count));
  const cut = (text: string) => cutText(text, share, CUT_ADVICE).text;
  const isAlone = report.done.length === 1 && report.failed.length === 0;
  const sections = [
    ...report.replies,
    ...(isAlone ? report.done.map((entry) => alone(entry, cut)) : listed(report.done, cut)),
    ...report.failed.map((entry) => `I could not do this: ${short(entry.heading)}\n${cut(entry.text)}`),
    ...note('Not done because of that', report.failed.length > 0 ? report.notDone : []),
    ...note('I did not understand', report.unknown),
    ...note('So I did not begin', report.failed.length > 0 ? [] : report.notDone),
    ...attachmentNote(report.attachments),
  ];
  return sections.join('\n\n');
}

/** That something came along which this model cannot look at. */
export function attachmentNote(attachments: readonly string[]): readonly string[] {
  if (attachments.length === 0) return [];
  return [`I can read text only, so I did not look at what came with it: ${attachments.join(', ')}.`];
}

/** At most about a hundred characters of a sentence, on one line. */
export function short(sentence: string): string {
  const start = sentence
    .slice(0, LONGEST_HEADING * 4)
    .replace(/\s+/g, ' ')
    .replace(/(?<=[\p{L}\p{N}"'`)\]])[.!;,:]$/u, '');
  if (start.length <= LONGEST_HEADING && sentence.length <= LONGEST_HEADING * 4) return start;
  return `${start.slice(0, LONGEST_HEADING).toWellFormed()}…`;
}

/** A reason without the advice to a model that may stand at its end: "Do not ask it again." */
export function withoutAdvice(reason: string): string {
  const at = reason.search(/[.;,]? do not (ask|try|call) /i);
  return at <= 0 ? reason : `${reason.slice(0, at)}.`;
}

function alone({ heading, text }: Entry, cut: (text: string) => string): string {
  return text === '' ? `Done: ${short(heading)}` : cut(text);
}

function listed(entries: readonly Entry[], cut: (text: string) => string): readonly string[] {
  return entries.map(({ heading, text }) => {
    if (text === '') return `${short(heading)}: done`;
    return `${short(heading)}:${text.includes('\n') ? '\n' : ' '}${cut(text)}`;
  });
}

function note(label: string, sentences: readonly string[]): readonly string[] {
  if (sentences.length === 0) return [];
  return [`${label}: ${sentences.map((sentence) => `"${short(sentence)}"`).join('; ')}.`];
}
