// Draws the charts of the element "charts" (planner/report/chart_json.hpp), each in the canvas of its id.
"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const series_colour = (index) => colour(`--c${index % 6}`);

  const scaled = (value, units) => {
    if (value === 0) return "0";
    const [least, name] = units.find(([from]) => Math.abs(value) >= from) ?? units[units.length - 1];
    return `${Number((value / least).toPrecision(3))}${name}`;
  };
  const written = {
    number: (value) => scaled(value, [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]]),
    bytes: (value) => scaled(value, [[2 ** 40, " TiB"], [2 ** 30, " GiB"], [2 ** 20, " MiB"], [2 ** 10, " KiB"], [1, " B"]]),
    seconds: (value) => scaled(value, [[1, " s"], [1e-3, " ms"], [1e-6, " us"]]),
  };

  // Puts up to six ticks at powers of two; on an axis with hardly any of these at multiples of one.
  const set_byte_ticks = (axis) => {
    const [first, last] = [Math.ceil(Math.log2(axis.min)), Math.floor(Math.log2(axis.max))];
    const step = Math.max(1, Math.ceil((last - first) / 5));
    axis.ticks = [];
    if (last - first >= 2) {
      for (let power = first; power <= last; power += step) axis.ticks.push({ value: 2 ** power });
      return;
    }
    const unit = 2 ** Math.ceil(Math.log2((axis.max - axis.min) / 5));
    for (let value = Math.ceil(axis.min / unit) * unit; value <= axis.max; value += unit) axis.ticks.push({ value });
  };

  // Makes an axis over values up to `most`; a logarithmic one from `least` on, others from zero where `from_zero` is true.
  const axis_of = (own, least, most, from_zero) => {
    const axis = {
      title: { display: true, text: own.title, color: colour("--ink") },
      grid: { color: colour("--faint") },
      ticks: { color: colour("--ink"), maxRotation: 0, autoSkipPadding: 12, callback: written[own.unit] },
    };
    if (own.logarithmic) {
      return { ...axis, type: "logarithmic", min: least / 1.2, max: most * 1.2, afterBuildTicks: set_byte_ticks };
    }
    if (own.unit === "bytes" && most > 0) axis.ticks.stepSize = 2 ** Math.ceil(Math.log2(most / 5));
    return { ...axis, type: "linear", beginAtZero: from_zero };
  };

  const options_of = (legend, more) => ({
    animation: false,
    maintainAspectRatio: false,
    ...more,
    plugins: {
      legend: { display: legend, position: "bottom", labels: { color: colour("--ink"), usePointStyle: true } },
      tooltip: { callbacks: { label: ({ dataset, dataIndex }) => `${dataset.label}: ${dataset.texts[dataIndex]}` } },
    },
  });

  const marks = {
    dots: (own) => ({ showLine: false, pointRadius: 3, backgroundColor: `${own}90`, borderWidth: 0 }),
    line: (own) => ({ showLine: true, pointRadius: 4, backgroundColor: own, borderColor: own, borderWidth: 2 }),
    area: (own) => ({ showLine: true, pointRadius: 0, fill: "origin", backgroundColor: own, borderWidth: 0 }),
    ring: () => ({ showLine: false, pointRadius: 9, pointHoverRadius: 11, pointStyle: "circle", borderWidth: 3, order: -1,
      backgroundColor: "transparent", borderColor: colour("--ink") }),
  };

  const points_config = ({ points: { x, y, series } }) => {
    const all = series.flatMap((own) => own.points);
    const least = (axis) => all.reduce((found, point) => Math.min(found, point[axis]), Infinity);
    const most = (axis) => all.reduce((found, point) => Math.max(found, point[axis]), 0);
    const areas = series.every((own) => own.mark === "area");
    const from_zero = !series.some((own) => own.mark === "dots");
    const datasets = series.map((own, index) => ({
      label: own.name,
      data: own.points.map((point) => ({ x: point.x, y: point.y })),
      texts: own.points.map((point) => point.text),
      ...marks[own.mark](series_colour(index)),
    }));
    const x_axis = axis_of(x, least("x"), most("x"), from_zero);
    if (areas) x_axis.max = most("x");
    return {
      type: "scatter",
      data: { datasets },
      options: options_of(!areas, {
        interaction: { mode: "nearest", axis: areas ? "x" : "xy", intersect: false },
        scales: { x: x_axis, y: axis_of(y, least("y"), most("y"), from_zero) },
      }),
      plugins: areas ? [names_of_areas] : [],
    };
  };

  // Writes the name of an area into it, where there is room.
  const names_of_areas = {
    id: "names",
    afterDatasetsDraw: ({ ctx, data, scales: { x, y } }) => {
      ctx.save();
      ctx.textAlign = "center";
      ctx.fillStyle = colour("--paper");
      for (const { label, data: [begin, , end] } of data.datasets) {
        const [from, to] = [x.getPixelForValue(begin.x), x.getPixelForValue(end.x)];
        const room = y.getPixelForValue(0) - y.getPixelForValue(begin.y);
        if (ctx.measureText(label).width + 6 < to - from && room > 24) {
          ctx.fillText(label, (from + to) / 2, y.getPixelForValue(0) - 10);
        }
      }
      ctx.restore();
    },
  };

  const bars_config = ({ bars: { axis, labels, series, shares_rows } }) => {
    const most = series.flatMap((own) => own.bars).reduce((found, bar) => Math.max(found, bar?.to ?? 0), 0);
    const short = (label, width) => (width < 480 && label.length > 16 ? `${label.slice(0, 14)}...` : label);
    const datasets = series.map((own, index) => ({
      label: own.name,
      data: own.bars.map((bar) => bar && [bar.from, bar.to]),
      texts: own.bars.map((bar) => bar?.text ?? ""),
      backgroundColor: series_colour(index),
      grouped: !shares_rows,
      maxBarThickness: 28,
    }));
    const rows = { grid: { display: false }, ticks: { autoSkip: false, color: colour("--ink") } };
    rows.ticks.callback = function label_at(index) {
      return short(labels[index], this.chart.width);
    };
    const interaction = { mode: "nearest", axis: "y", intersect: shares_rows };
    const scales = { x: axis_of(axis, 0, most, true), y: rows };
    return {
      type: "bar",
      data: { labels, datasets },
      options: options_of(series.length > 1, { indexAxis: "y", interaction, scales }),
    };
  };

  const drawn = [];
  const draw = () => {
    drawn.splice(0).forEach((chart) => chart.destroy());
    for (const own of charts) {
      const canvas = document.getElementById(own.id);
      if (own.bars) {
        const rows = own.bars.labels.length * (own.bars.shares_rows ? 1 : own.bars.series.length);
        canvas.parentElement.style.height = `${110 + 24 * rows}px`;
      }
      drawn.push(new Chart(canvas, own.bars ? bars_config(own) : points_config(own)));
    }
    document.body.dataset.drawn = drawn.length;
  };
  draw();
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
