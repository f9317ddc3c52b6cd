import { nameOfResult, type Evaluation } from './evaluate.js';

/** Writes the results as JUnit XML: one suite, one test case for each case. */
export function junitXml({ results }: Evaluation): string {
  const failed = results.filter(({ passed }) => !passed).length;
  const seconds = results.reduce((sum, each) => sum + (each.seconds ?? 0), 0);
  const cases = results.map((result) => {
    const { file, failures, seconds: time = 0 } = result;
    const open = `  <testcase classname="${escaped(file)}" name="${escaped(nameOfResult(result))}" time="${time.toFixed(3)}"`;
    if (failures.length === 0) return `${open}/>`;
    const text = escaped(failures.join('\n'));
    return `${open}>\n    <failure message="${escaped(failures[0]!)}">${text}</failure>\n  </testcase>`;
  });
  const counts = `tests="${results.length}" failures="${failed}" time="${seconds.toFixed(3)}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuite name="lango eval" ${counts}>`,
    ...cases,
    '</testsuite>\n',
  ].join('\n');
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
/** The characters that XML 1.0 cannot hold, not even as a number. */
// oxlint-disable-next-line no-control-regex
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

function escaped(text: string): string {
  const plain = text.toWellFormed().replace(FORBIDDEN, '\ufffd');
  return plain.replace(/[&<>"]/g, (character) => ENTITIES[character]!).replaceAll('\n', '&#10;');
}
