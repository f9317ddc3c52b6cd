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
  /** Called with the part of time below the pointer. */
  readonly onPoint: (index: number | undefined) => void;
}

const HEIGHT = 180;
const BAR_SHARE = 0.75;
const WIDEST_BAR = 48;
const AXIS_WIDTH = 56;

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

function draw(box: HTMLElement, { times, partMs, series, format, onPoint }: PlotOptions): UPlot {
  const bars = UPlot.paths.bars!({ size: [BAR_SHARE, WIDEST_BAR] });
  const { font } = getComputedStyle(box);
  const [ink, line] = ['--quiet', '--line'].map((name) => colorOf(box, name)) as [string, string];
  const axis = { stroke: ink, font, grid: { stroke: line, width: 1 }, ticks: { show: false } };
  // The highest bars are drawn first, and the lower ones over them.
  const stacked = stack(series).reverse();
  const half = partMs / 2_000;
  return new UPlot(
    {
      width: box.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      scales: {
        x: { range: () => [times[0]! / 1_000 - half, times.at(-1)! / 1_000 + half] },
        y: { range: (_, __, most) => [0, Math.max(most * 1.05, Number.MIN_VALUE)] },
      },
      axes: [
        { ...axis, grid: { show: false } },
        { ...axis, size: AXIS_WIDTH, values: (_, values) => values.map(format) },
      ],
      series: [
        {},
        ...stacked.map(({ name, color }) => ({
          ...{ label: name, paths: bars, points: { show: false }, width: 0 },
          ...{ fill: colorOf(box, color), stroke: colorOf(box, color) },
        })),
      ],
      hooks: { setCursor: [({ cursor: { idx } }) => onPoint(idx ?? undefined)] },
    },
    [times.map((time) => time / 1_000), ...stacked.map(({ values }) => [...values])],
    box,
  );
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
