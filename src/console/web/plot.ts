import UPlot from 'uplot';

export interface Series {
  readonly name: string;
  readonly values: readonly number[];
  /** A custom property of the style sheet. */
  readonly color: string;
}

export interface PlotOptions {
  /** The beginnings of the parts of time, in milliseconds. */
  readonly times: readonly number[];
  readonly partMs: number;
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** A limit, drawn as a dashed line where it is near. */
  readonly limit?: number | undefined;
  /** Called with the part of time below the pointer. */
  readonly onPoint: (index: number | undefined) => void;
}

const HEIGHT = 180;
const BAR_SHARE = 0.75;
const WIDEST_BAR = 48;
const DAY_MS = 24 * 60 * 60 * 1_000;
const DAYS = [1, 2, 7, 14];
const AXIS_WIDTH = 56;
/** A limit is drawn when it is less than so many times the highest bar. */
const NEAR = 4;
const DAY_WORDS = { day: 'numeric', month: 'short' } as const;

/** Draws stacked bars over time into `box`, as wide as it is. Returns a function that removes them. */
export function plot(box: HTMLElement, options: PlotOptions): () => void {
  let drawn = draw(box, options);
  const observer = new ResizeObserver(() => drawn.setSize({ width: box.clientWidth, height: HEIGHT }));
  observer.observe(box);
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  const again = () => {
    drawn.destroy();
    drawn = draw(box, options);
  };
  scheme.addEventListener('change', again);
  return () => {
    observer.disconnect();
    scheme.removeEventListener('change', again);
    drawn.destroy();
  };
}

function draw(box: HTMLElement, { times, partMs, series, format, limit = 0, onPoint }: PlotOptions): UPlot {
  const bars = UPlot.paths.bars!({ size: [BAR_SHARE, WIDEST_BAR] });
  const { font } = getComputedStyle(box);
  const [ink, line] = ['--quiet', '--line'].map((name) => colorOf(box, name)) as [string, string];
  const axis = { stroke: ink, font, grid: { stroke: line, width: 1 }, ticks: { show: false } };
  // The highest bars are drawn first, and the lower ones over them.
  const stacked = stack(series).reverse();
  const half = partMs / 2_000;
  const isByDay = partMs >= DAY_MS;
  return new UPlot(
    {
      width: box.clientWidth,
      height: HEIGHT,
      // Days are those of UTC, as on the bill.
      ...(isByDay && { tzDate: (time) => UPlot.tzDate(new Date(time * 1_000), 'Etc/UTC') }),
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      scales: {
        x: { range: () => [times[0]! / 1_000 - half, times.at(-1)! / 1_000 + half] },
        y: {
          range: (_, __, most) => [
            0,
            1.05 * Math.max(most, limit < NEAR * most ? limit : 0, Number.MIN_VALUE),
          ],
        },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          values: (_, times) => timeWords(times, isByDay),
          ...(isByDay && { incrs: DAYS.map((days) => (days * DAY_MS) / 1_000) }),
        },
        { ...axis, size: AXIS_WIDTH, values: (_, values) => values.map(format) },
      ],
      series: [
        {},
        ...stacked.map(({ name, color }) => ({
          ...{ label: name, paths: bars, points: { show: false }, width: 0 },
          ...{ fill: colorOf(box, color), stroke: colorOf(box, color) },
        })),
      ],
      hooks: {
        draw: limit > 0 ? [(drawn) => drawLimit(drawn, limit, colorOf(box, '--bad'))] : [],
        setCursor: [({ cursor: { idx } }) => onPoint(idx ?? undefined)],
      },
    },
    [times.map((time) => time / 1_000), ...stacked.map(({ values }) => [...values])],
    box,
  );
}

/** The days of times in seconds, in words; with hours, each day once, below its first hour. */
function timeWords(times: readonly number[], isByDay: boolean): string[] {
  const dates = times.map((time) => new Date(time * 1_000));
  if (isByDay)
    return dates.map((date) => date.toLocaleDateString(undefined, { ...DAY_WORDS, timeZone: 'UTC' }));
  const days = dates.map((date) => date.toLocaleDateString(undefined, DAY_WORDS));
  return dates.map((date, index) => {
    const hour = date.toLocaleTimeString(undefined, { hour: 'numeric' });
    return days[index] === days[index - 1] ? hour : `${hour}\n${days[index]}`;
  });
}

function drawLimit(drawn: UPlot, limit: number, color: string): void {
  const { ctx, bbox } = drawn;
  const y = drawn.valToPos(limit, 'y', true);
  if (y < bbox.top) return;
  ctx.save();
  ctx.strokeStyle = color;
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.setLineDash([8, 6]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
}

function stack(series: readonly Series[]): Series[] {
  const sums = new Array<number>(series[0]?.values.length ?? 0).fill(0);
  return series.map((one) => ({ ...one, values: one.values.map((value, at) => (sums[at]! += value)) }));
}

/** A canvas knows no custom properties. */
function colorOf(box: HTMLElement, name: string): string {
  const probe = box.appendChild(document.createElement('i'));
  probe.style.color = `var(${name})`;
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
