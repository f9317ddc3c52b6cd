import DOMPurify from 'dompurify';
import { Marked } from 'marked';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Icon } from './icons.js';
import { Button } from './page.js';
import { textOf, type Part } from './wire.js';

/** Longer texts are shown as they are: to render them as markdown takes too long. */
const MARKDOWN_CHARACTERS = 60_000;
const IMAGES = /^image\/(png|jpeg|gif|webp|avif)$/;

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
/** Markup and pictures in a text are shown as they were written. */
const asWritten = (text: string) => text.replace(/[&<>]/g, (sign) => escapes[sign]!);
const marked = new Marked({
  renderer: { html: ({ text }) => asWritten(text), image: ({ raw }) => asWritten(raw) },
});
DOMPurify.addHook('afterSanitizeAttributes', (element) => {
  if (element.tagName !== 'A') return;
  element.setAttribute('target', '_blank');
  element.setAttribute('rel', 'noopener noreferrer nofollow');
});

/** Text of agents is markdown without pictures and forms: neither may reach another origin. */
function Markdown({ text }: { readonly text: string }) {
  const html = useMemo(
    () =>
      DOMPurify.sanitize(marked.parse(text, { async: false }), {
        USE_PROFILES: { html: true },
        FORBID_TAGS: ['img', 'picture', 'video', 'audio', 'form', 'input', 'button', 'textarea', 'style'],
        FORBID_ATTR: ['style', 'class', 'id', 'name'],
        RETURN_TRUSTED_TYPE: true,
      }),
    [text],
  );
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    for (const block of box.current!.querySelectorAll('pre')) addCopyButton(block);
  }, [html]);
  return (
    <div ref={box} class="text" dir="auto" dangerouslySetInnerHTML={{ __html: html as unknown as string }} />
  );
}

/** Adds a button to a block of code. It is no part of the sanitized text, which may hold none. */
function addCopyButton(block: HTMLElement): void {
  const text = block.textContent;
  const button = document.createElement('button');
  Object.assign(button, { type: 'button', className: 'quiet copy', textContent: 'Copy' });
  button.addEventListener('click', () => void copy(text).then((words) => (button.textContent = words)));
  const frame = document.createElement('div');
  frame.className = 'code';
  block.tabIndex = 0;
  block.replaceWith(frame);
  frame.append(block, button);
}

/** Resolves with what the button says then. */
const copy = (text: string) =>
  navigator.clipboard.writeText(text).then(
    () => 'Copied',
    () => 'The browser does not allow to copy',
  );

export function Copy({ text }: Readonly<{ text: string }>) {
  const [words, setWords] = useState('Copy');
  return (
    <Button class="quiet" onClick={() => void copy(text).then(setWords)}>
      <Icon name="copy" /> {words}
    </Button>
  );
}

/** Shows characters that turn or hide text, but for those that languages and emoji need, as in terminal/safe-text.ts. */
export const visible = (text: string) =>
  text.replace(
    // eslint-disable-next-line no-misleading-character-class -- each stands for itself
    /(?![\u00ad\u034f\u180b-\u180d\u200c\u200d\ufe00-\ufe0f])\p{Default_Ignorable_Code_Point}/gu,
    escaped,
  );

const escaped = (sign: string) => `\\u{${sign.codePointAt(0)!.toString(16)}}`;

export function Text({ text: given }: Readonly<{ text: string }>) {
  const text = visible(given);
  if (text.length <= MARKDOWN_CHARACTERS) return <Markdown text={text} />;
  return (
    <pre class="text plain" dir="auto" tabIndex={0}>
      {text}
    </pre>
  );
}

/** JSON in which each character can be seen, also those that have no shape or turn the direction of others. */
export function exact(value: unknown): string {
  const text = JSON.stringify(value, undefined, 2) ?? 'nothing';
  return text.replace(/(?!\n)[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/gu, escaped);
}

export function Json({ value, label }: { readonly value: unknown; readonly label: string }) {
  return (
    <pre tabIndex={0} role="region" aria-label={label}>
      {exact(value)}
    </pre>
  );
}

/** Shows all chunks of streamed text as one text. */
export function Parts({ parts }: { readonly parts: readonly Part[] }) {
  const text = textOf(parts);
  const others = parts.filter((part) => part.text === undefined);
  return (
    <>
      {text !== '' && <Text text={text} />}
      {others.map((part, index) => (
        <Other key={index} part={part} />
      ))}
    </>
  );
}

function Other({ part: { raw, url, data, filename = 'file', mediaType = '' } }: { readonly part: Part }) {
  if (raw === undefined && url === undefined) return <Json value={data} label="Data" />;
  if (raw === undefined) return <pre class="text">{visible(url ?? '')}</pre>;
  const isImage = IMAGES.test(mediaType);
  const name = visible(filename);
  return (
    <figure>
      {isImage && <img src={`data:${mediaType};base64,${raw}`} alt={name} />}
      <figcaption>
        <a download={name} href={`data:application/octet-stream;base64,${raw}`}>
          Download {name}
        </a>{' '}
        <small>
          {sizeOf((raw.length * 3) / 4)} {visible(mediaType)}
        </small>
      </figcaption>
    </figure>
  );
}

export function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${Math.round(bytes)} bytes`;
  const isLarge = bytes >= 1024 * 1024;
  return `${(bytes / (isLarge ? 1024 * 1024 : 1024)).toFixed(1)} ${isLarge ? 'MiB' : 'KiB'}`;
}
