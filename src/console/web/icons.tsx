import type { ComponentChildren } from 'preact';

/** Drawn on 16 by 16 with lines of the color of the text. Those of states differ in form, not only in color. */
const PATHS = {
  overview: 'M2 9h5V2H2zM9 14h5V7H9zM2 14h5v-2H2zM9 4h5V2H9z',
  tasks: 'M6 4h8M6 8h8M6 12h8M2 4l.8.8L4.2 3.4M2 8l.8.8 1.4-1.4M2 12l.8.8 1.4-1.4',
  approvals: 'M8 2l5 2v4c0 3-2 5-5 6-3-1-5-3-5-6V4zM5.8 8l1.6 1.6 2.8-3',
  chat: 'M2 3h12v8H7l-3 3v-3H2z',
  agents: 'M3 6h10v7H3zM8 6V3M7 3h2M6 9v1M10 9v1M1.5 9v2M14.5 9v2',
  map: 'M2 6.5h3v3H2zM11 2h3v3h-3zM11 11h3v3h-3zM5 8h3M8 8V3.5h3M8 8v4.5h3',
  evaluations: 'M2 14h12M4 14V9M8 14V4M12 14V7',
  inspector: 'M7 2a5 5 0 100 10A5 5 0 007 2zM11 11l3 3',
  bill: 'M3 2h10v12l-2-1.2L9.5 14 8 12.8 6.5 14 5 12.8 3 14zM6 6h4M6 9h4',
  data: 'M3 4c0-1.3 10-1.3 10 0v8c0 1.3-10 1.3-10 0zM3 4c0 1.3 10 1.3 10 0M3 8c0 1.3 10 1.3 10 0',
  completed: 'M8 1.5a6.5 6.5 0 100 13 6.5 6.5 0 000-13zM5 8.2l2 2 4-4.4',
  failed: 'M5.3 1.5h5.4l3.8 3.8v5.4l-3.8 3.8H5.3L1.5 10.7V5.3zM6 6l4 4M10 6l-4 4',
  canceled: 'M8 1.5a6.5 6.5 0 100 13 6.5 6.5 0 000-13zM3.5 12.5l9-9',
  waits: 'M8 1.5a6.5 6.5 0 100 13 6.5 6.5 0 000-13zM6.5 5.5v5M9.5 5.5v5',
  works: 'M14.5 8A6.5 6.5 0 118 1.5M8 5v3l2 1.5',
  warning: 'M8 2l6.5 12h-13zM8 6.5v3.5M8 12v.1',
  copy: 'M5 5V2h9v9h-3M2 5h9v9H2z',
  files: 'M11 5l-5 5a1.5 1.5 0 002 2l5-5a3 3 0 00-4.5-4.2L3 8.3A4 4 0 008.7 14L13 9.7',
  stop: 'M4 4h8v8H4z',
  save: 'M8 2v8M4.5 7L8 10.5 11.5 7M2 14h12',
  again: 'M13.5 8A5.5 5.5 0 112.5 8 5.5 5.5 0 0112 4.2M12 1.5v3H9',
  edit: 'M3 13l.7-3L11 2.7 13.3 5 6 12.3z',
  out: 'M10 5V2H2v12h8v-3M6 8h8M11.5 5.5L14 8l-2.5 2.5',
  remote: 'M8 1.5a6.5 6.5 0 100 13 6.5 6.5 0 000-13zM1.5 8h13M8 1.5c-4 4-4 9 0 13 4-4 4-9 0-13',
  people: 'M8 2a3 3 0 100 6 3 3 0 000-6zM2.5 14c0-6 11-6 11 0',
  model: 'M8 1.5c.6 4 2.5 5.9 6.5 6.5-4 .6-5.9 2.5-6.5 6.5C7.4 10.5 5.5 8.6 1.5 8c4-.6 5.9-2.5 6.5-6.5z',
  tool: 'M13.5 4.5a3.5 3.5 0 01-4.7 4L5 12.3A1.6 1.6 0 112.7 10l3.800-3.800a3.5 3.5 0 014-4.7L8.5 3.5l2 2 2-2z',
  idea: 'M8 4.5a3.5 3.5 0 100 7 3.5 3.5 0 000-7z',
  better: 'M8 13V3M4 7l4-4 4 4',
  worse: 'M8 3v10M4 9l4 4 4-4',
  unclear: 'M2 9c2-5 4-5 6-1s4 4 6-1',
  added: 'M8 3v10M3 8h10',
  remove: 'M4 4l8 8M12 4l-8 8',
} as const;

export type IconName = keyof typeof PATHS;

type IconProps = Readonly<{ name: IconName }>;

/** A picture beside words that say the same: readers of the screen need not hear of it. */
export const Icon = ({ name }: IconProps) => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" data-icon={name}>
    <path d={PATHS[name]} />
  </svg>
);

/** The same picture within another one, in a square of `size` from its place. */
export const DrawnIcon = ({ name, x, y, size }: Readonly<Record<'x' | 'y' | 'size', number>> & IconProps) => (
  <path
    class="drawn"
    data-icon={name}
    d={PATHS[name]}
    transform={`translate(${x} ${y}) scale(${size / 16})`}
  />
);

type MarkProps = Readonly<{ icon: IconName; kind?: string; children: ComponentChildren }>;

/** A state with its icon, so that it is told apart without its color too. */
export const Mark = ({ icon, kind = '', children }: MarkProps) => (
  <span class={`state ${kind}`}>
    <Icon name={icon} /> {children}
  </span>
);

/** Says that there is nothing to see yet, and what to do next. */
export const Nothing = ({ icon, children }: Omit<MarkProps, 'kind'>) => (
  <div class="empty" role="status">
    <Icon name={icon} />
    {children}
  </div>
);
