import { signal, type Signal } from '@preact/signals';
import { useRef, useState } from 'preact/hooks';
import { newId } from './api.js';
import { Icon } from './icons.js';
import { Button, Form } from './page.js';
import { sizeOf } from './parts.js';
import type { Message } from './wire.js';

/** The message that a person is about to send. */
export type Draft = Readonly<{ text: Signal<string>; files: Signal<readonly File[]> }>;

export function addFiles({ files }: Draft, more: FileList | null | undefined): void {
  files.value = [...files.value, ...(more ?? [])];
}

/** Messages that another page hands to the composer, to be changed and sent again, by conversation. */
const left = new Map<string, string>();

/** Leaves a text for the composer of a conversation that is opened next. */
export const leave = (contextId: string, words: string) => left.set(contextId, words);

/** The draft of a conversation, with a text that was left for it. */
export function draftOf(contextId: string): Draft {
  const words = left.get(contextId) ?? '';
  left.delete(contextId);
  return { text: signal(words), files: signal<readonly File[]>([]) };
}

const MESSAGE_ID = 'message';

/** Puts a text into the composer. */
export function write({ text }: Draft, words: string): void {
  text.value = words;
  document.getElementById(MESSAGE_ID)?.focus();
}

interface ComposerProps {
  readonly draft: Draft;
  readonly onSend: (message: Message) => Promise<void>;
  /** Undefined while nothing runs. */
  readonly onStop: (() => void) | undefined;
}

/** A message on its way. Sending it again uses the same id, so that the server takes it once. */
type Sending = Readonly<{ message: Message; fault: string }>;

export function Composer({ draft, onSend, onStop }: ComposerProps) {
  const { text, files } = draft;
  const picker = useRef<HTMLInputElement>(null);
  const [sending, setSending] = useState<Sending>();
  const send = async (message: Message) => {
    setSending({ message, fault: '' });
    try {
      await onSend(message);
      setSending(undefined);
      text.value = '';
      files.value = [];
    } catch (error) {
      setSending({ message, fault: (error as Error).message });
    }
  };
  const compose = async () => {
    const words = text.value.trim() === '' ? [] : [{ text: text.value }];
    const parts = [...words, ...(await Promise.all(files.value.map(toPart)))];
    if (parts.length > 0) await send({ messageId: newId(), role: 'ROLE_USER', parts });
  };
  const isBusy = sending?.fault === '';
  return (
    <Form class="composer" onSend={compose}>
      <Files draft={draft} />
      <textarea
        id={MESSAGE_ID}
        aria-label="Message"
        placeholder="Message (Shift+Enter: a new line)"
        rows={1}
        value={text.value}
        onInput={({ currentTarget }) => (text.value = currentTarget.value)}
        onPaste={(event) => {
          const pasted = event.clipboardData?.files;
          if (!pasted?.length) return;
          event.preventDefault();
          addFiles(draft, pasted);
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          if (!isBusy) void compose();
        }}
      />
      <div class="buttons">
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label="Files"
          onChange={({ currentTarget }) => {
            addFiles(draft, currentTarget.files);
            currentTarget.value = '';
          }}
        />
        <Button onClick={() => picker.current?.click()}>
          <Icon name="files" /> Add files
        </Button>
        <span class="space" />
        {onStop && (
          <Button class="danger" onClick={onStop}>
            <Icon name="stop" /> Stop
          </Button>
        )}
        <button class="primary" disabled={isBusy}>
          {isBusy ? 'Sending…' : 'Send'}
        </button>
      </div>
      {sending && sending.fault !== '' && (
        <p role="alert">
          {sending.fault} <Button onClick={() => void send(sending.message)}>Send it again</Button>
        </p>
      )}
    </Form>
  );
}

function Files({ draft: { files } }: Readonly<{ draft: Draft }>) {
  if (files.value.length === 0) return null;
  return (
    <ul class="files" aria-label="Files to send">
      {files.value.map((file) => (
        <li key={`${file.name} ${file.lastModified}`}>
          {file.name} <small>{sizeOf(file.size)}</small>{' '}
          <Button
            class="quiet"
            aria-label={`Remove ${file.name}`}
            onClick={() => (files.value = files.value.filter((one) => one !== file))}
          >
            <Icon name="remove" />
          </Button>
        </li>
      ))}
    </ul>
  );
}

function toPart(file: File): Promise<Message['parts'][number]> {
  const reader = new FileReader();
  return new Promise((resolve, reject) => {
    reader.onerror = () => reject(new Error(`The file ${file.name} cannot be read.`));
    reader.onload = () => {
      const [, raw = ''] = (reader.result as string).split(',');
      resolve({ raw, filename: file.name, mediaType: file.type || 'application/octet-stream' });
    };
    reader.readAsDataURL(file);
  });
}
