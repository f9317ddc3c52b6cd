import { useEffect, useRef, useState } from 'preact/hooks';
import type { UsageRow } from '../../core/model.js';
import type { NodeStatus } from './node.js';
import { short } from './page.js';
import type { PlotOptions, Series } from './plot.js';
import { visible } from './parts.js';

/** The colors of series, in the order of their sizes. */
const COLORS = 6;
const OTHERS = 'others';

type ChartProps = Omit<PlotOptions, 'onPoint'> & { readonly label: string };

/** Stacked bars over time. The code that draws is loaded with the first chart, and its room is kept meanwhile. */
export function Chart({ label, ...options }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const [point, onPoint] = useState<number>();
  const { times, series, partMs, format, limit } = options;
  useEffect(() => {
    let isOver = false;
    let remove = () => {};
    void import('./plot.js').then(({ plot }) => {
      if (!isOver && box.current) remove = plot(box.current, { ...options, onPoint });
    });
    return () => {
      isOver = true;
      remove();
    };
  }, [JSON.stringify([times, series, limit])]);
  const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);
  const valueOf = ({ values }: Series) => (point === undefined ? sum(values) : (values[point] ?? 0));
  const text = series.map((one) => `${one.name} ${format(sum(one.values))}`).join(', ');
  return (
    <figure class="chart">
      <figcaption>
        {label}
        {limit !== undefined && <small> limit {format(limit)}, dashed</small>}
        {point !== undefined && <small> {partWords(times[point]!, partMs)}</small>}
      </figcaption>
      <div class="plot" ref={box} role="img" aria-label={`${label}: ${text}`} />
      <ul class="legend">
        {series.map((one) => (
          <li key={one.name}>
            <i style={{ background: `var(${one.color})` }} />
            {visible(one.name)} <b>{format(valueOf(one))}</b>
          </li>
        ))}
      </ul>
    </figure>
  );
}

interface UsageOf extends Pick<UsageRow, 'input' | 'output' | 'cost' | 'currency'> {
  readonly at: number;
  readonly name: string;
}

type UsageChartsProps = Pick<ChartProps, 'times' | 'partMs'> &
  Readonly<{ rows: readonly UsageOf[]; by?: string; limit?: NodeStatus['dailyCost'] }>;

/** Tokens, and the money of each currency, by the names of the rows. `by`: the end of the labels. */
export function UsageCharts({ rows, times, partMs, by = '', limit }: UsageChartsProps) {
  const tokens = rows.map((row) => ({ ...row, value: row.input + row.output }));
  const costs = rows.flatMap((row) => (row.cost ? { ...row, value: row.cost } : []));
  return (
    <>
      <Chart label={`Tokens${by}`} format={short} {...{ times, partMs, series: seriesOf(tokens, times) }} />
      {[...Map.groupBy(costs, ({ currency }) => currency)].map(([currency, ofIt]) => (
        <Chart
          key={currency}
          label={`Money in ${currency}${by}`}
          format={(value) => value.toLocaleString(undefined, { maximumSignificantDigits: 3 })}
          limit={limit?.currency === currency ? limit.amount : undefined}
          series={seriesOf(ofIt, times)}
          {...{ times, partMs }}
        />
      ))}
    </>
  );
}

function partWords(time: number, partMs: number): string {
  const day = { weekday: 'short', day: 'numeric', month: 'short' } as const;
  const isDay = partMs >= 24 * 60 * 60 * 1_000;
  const zone = isDay ? ({ timeZone: 'UTC' } as const) : ({ hour: '2-digit', minute: '2-digit' } as const);
  return new Date(time).toLocaleString(undefined, { ...day, ...zone });
}

type Valued = Readonly<{ at: number; name: string; value: number }>;

/** The sums of values by name and part of time, the largest first; small ones together. */
export function seriesOf(values: readonly Valued[], times: readonly number[]): readonly Series[] {
  const sums = [...Map.groupBy(values, ({ name }) => name)]
    .map(([name, all]) => ({ name, all, sum: all.reduce((sum, { value }) => sum + value, 0) }))
    .filter(({ sum }) => sum > 0)
    .sort((a, b) => b.sum - a.sum);
  const isMany = sums.length > COLORS;
  const kept = sums.slice(0, isMany ? COLORS - 1 : COLORS);
  const rest = sums.slice(kept.length).flatMap(({ all }) => all);
  const shown = isMany ? [...kept, { name: OTHERS, all: rest }] : kept;
  return shown.map(({ name, all }, index) => {
    const byTime = Map.groupBy(all, ({ at }) => at);
    const valueAt = (time: number) => (byTime.get(time) ?? []).reduce((sum, { value }) => sum + value, 0);
    return { name, color: `--series-${index + 1}`, values: times.map(valueAt) };
  });
}

/** The beginnings of all parts of a time. */
export function partsOf(from: number, partMs: number, until = Date.now()): readonly number[] {
  const count = Math.max(1, Math.floor((until - from) / partMs) + 1);
  return Array.from({ length: count }, (_, index) => from + index * partMs);
}
