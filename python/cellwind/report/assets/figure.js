// Draws declared figures with plotly.js. A figure is an element with class "plot-area", followed by the
// <script type="application/json"> with its declaration (see interactive.py).
"use strict";

(function () {
  // A series longer than this is thinned to what the visible range can show; zooming in brings every point back.
  const THIN_ABOVE = 4000;
  const DARK = window.matchMedia("(prefers-color-scheme: dark)");
  const TOUCH = window.matchMedia("(pointer: coarse)");
  const SYMBOLS = { dot: "circle", cross: "x-thin-open", triangle: "triangle-up", diamond: "diamond", bar: "line-ns-open" };
  const drawn = new Map();

  // Numbers travel as unsigned 32-bit steps from an offset; the highest step stands for a gap.
  function decode(packed) {
    const bytes = Uint8Array.from(atob(packed.data), (letter) => letter.charCodeAt(0));
    const steps = new Uint32Array(bytes.buffer);
    return Float64Array.from(steps, (step) => (step === 0xffffffff ? NaN : packed.offset + packed.scale * step));
  }

  function isThinned(series) {
    return !series.every && series.x.length > THIN_ABOVE && series.kind !== "band";
  }

  // The first, lowest, highest and last point of every column, and one neighbour outside on either side.
  function outline(series, from, to, columns) {
    const keep = [];
    const { x, y } = series;
    const scale = columns / (to - from || 1);
    let column = -2, first = 0, low = 0, high = 0, last = 0;
    const close = () => {
      if (column >= -1) keep.push(...new Set([first, low, high, last].sort((a, b) => a - b)));
    };
    for (let i = 0; i < x.length; i++) {
      const here = x[i] < from ? -1 : x[i] > to ? columns : Math.min(columns - 1, Math.floor((x[i] - from) * scale));
      if (Number.isNaN(y[i])) {
        close();
        column = -2;
        keep.push(i);
      } else if (here !== column) {
        close();
        column = here;
        first = low = high = last = i;
      } else {
        if (y[i] < y[low]) low = i;
        if (y[i] > y[high]) high = i;
        last = i;
      }
      if (here === columns && keep[keep.length - 1] === i) break;
    }
    close();
    return keep;
  }

  // One point for every cell that has one, in cells of a pixel.
  function occupied(series, from, to, columns, rows) {
    const { x, y } = series;
    const inside = [];
    let bottom = Infinity, top = -Infinity;
    for (let i = 0; i < x.length; i++) {
      if (x[i] >= from && x[i] <= to) {
        inside.push(i);
        bottom = Math.min(bottom, y[i]);
        top = Math.max(top, y[i]);
      }
    }
    if (inside.length <= THIN_ABOVE) return inside;
    const seen = new Set();
    return inside.filter((i) => {
      const cell = Math.floor(((x[i] - from) / (to - from)) * columns) * (rows + 1)
        + Math.floor(((y[i] - bottom) / (top - bottom || 1)) * rows);
      return !seen.has(cell) && seen.add(cell);
    });
  }

  function visiblePoints(series, from, to, width, height) {
    if (!isThinned(series)) return { x: series.x, y: series.y };
    const keep = series.kind === "points"
      ? occupied(series, from, to, width, height)
      : outline(series, from, to, width);
    return { x: keep.map((i) => series.x[i]), y: keep.map((i) => series.y[i]) };
  }

  function extent(figure, axis, shown) {
    let low = Infinity, high = -Infinity;
    figure.series.forEach((series, place) => {
      const isSpan = series.kind === "span";
      if (!shown[place] || (isSpan && axis === "y")) return;
      for (const values of axis === "y" ? [series.y, series.upper || []] : isSpan ? [series.x, series.y] : [series.x]) {
        for (const value of values) {
          if (value < low) low = value;
          if (value > high) high = value;
        }
      }
    });
    if (low > high) [low, high] = [0, 1];
    for (const [place] of figure[axis].ticks) {
      low = Math.min(low, place - 0.5);
      high = Math.max(high, place + 0.5);
    }
    const margin = (high - low || Math.abs(high) || 1) * 0.03;
    return [figure[axis].from_zero ? Math.min(0, low) : low - margin, high + margin];
  }

  function color(name) {
    return getComputedStyle(document.documentElement).getPropertyValue("--plot-" + name).trim() || "#888";
  }

  function traces(figure, range, width, height) {
    const list = [];
    figure.series.forEach((series, place) => {
      const { x, y } = visiblePoints(series, range[0], range[1], width, height);
      const trace = {
        type: "scatter", name: series.name, x, y, meta: place,
        visible: figure.shown[place] ? true : "legendonly",
        mode: series.kind === "points" ? "markers" : "lines",
        hovertemplate: figure.hover,
      };
      if (series.kind === "points") {
        const open = series.mark === "cross" || series.mark === "bar";
        trace.marker = {
          symbol: SYMBOLS[series.mark], size: series.size, color: color(series.color),
          line: { width: open ? 1.5 : 0, color: color(series.color) },
        };
      } else if (series.kind === "band") {
        trace.line = { width: 0 };
        trace.showlegend = false;
        trace.hoverinfo = "skip";
        delete trace.hovertemplate;
        list.push(trace);
        list.push({
          ...trace, y: series.upper, showlegend: true, fill: "tonexty",
          fillcolor: color(series.color) + "30",
        });
        return;
      } else if (series.kind === "span") {
        // Rectangles over the whole height, on an axis of their own; the edge shows what is narrower than a pixel.
        trace.x = [...series.x].flatMap((start, i) => [start, start, series.y[i], series.y[i], null]);
        trace.y = [...series.x].flatMap(() => [0, 1, 1, 0, null]);
        trace.yaxis = "y2";
        trace.fill = "toself";
        trace.fillcolor = color(series.color) + "38";
        trace.line = { width: 0.5, color: color(series.color) };
        trace.hoverinfo = "skip";
        delete trace.hovertemplate;
      } else {
        trace.line = {
          color: color(series.color), width: series.width, shape: series.kind === "step" ? "hv" : "linear",
          dash: series.dashed ? "4px,3px" : "solid",
        };
      }
      list.push(trace);
    });
    return list;
  }

  // Long names break after the joints of a variant's name, so that they leave room for the plot.
  function wrapped(name, longest) {
    const lines = [""];
    for (const part of name.split(/(?<=[\[,=.\/ ])/)) {
      if (lines[lines.length - 1] && (lines[lines.length - 1] + part).length > longest) lines.push("");
      lines[lines.length - 1] += part;
    }
    return lines.join("<br>");
  }

  function axisLayout(axis, range, narrow) {
    const ink = color("ink");
    const layout = {
      title: { text: axis.title, font: { size: 12 }, standoff: 8 },
      range, zeroline: false, showline: false, gridcolor: color("grid"), tickcolor: color("grid"), color: ink,
      automargin: true, exponentformat: "none", separatethousands: false,
    };
    if (axis.ticks.length) {
      layout.tickmode = "array";
      layout.tickvals = axis.ticks.map(([place]) => place);
      layout.ticktext = axis.ticks.map(([, name]) => wrapped(name, narrow ? 18 : 40));
      layout.showgrid = false;
    }
    return layout;
  }

  // About what all names take in a row, in pixels.
  function legendWidth(figure) {
    return figure.series.reduce((width, series) => width + 45 + 7 * series.name.length, 60);
  }

  function layout(element, figure) {
    const narrow = element.clientWidth < 600;
    return {
      xaxis: axisLayout(figure.x, figure.home.x.slice(), narrow),
      yaxis: axisLayout(figure.y, figure.home.y.slice(), narrow),
      yaxis2: { overlaying: "y", range: [0, 1], visible: false, fixedrange: true },
      height: figure.height,
      margin: { l: 56, r: 12, t: 36, b: 44 },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", size: 12, color: color("ink") },
      showlegend: figure.series.length > 1,
      legend: {
        orientation: "h", x: 0, xanchor: "left", font: { size: 12 }, itemsizing: "constant",
        // The buttons need the top for themselves where the names do not fit beside them in a row.
        ...(legendWidth(figure) + 200 > element.clientWidth ? { yref: "container", y: 0, yanchor: "bottom" } : { y: 1, yanchor: "bottom" }),
      },
      hovermode: "closest",
      hoverlabel: { bgcolor: color("panel"), bordercolor: color("grid"), font: { color: color("ink") } },
      // A finger that drags scrolls the page; the buttons still zoom.
      dragmode: TOUCH.matches ? false : "zoom",
      modebar: { orientation: "h", bgcolor: "rgba(0,0,0,0)", color: color("grey"), activecolor: color("blue") },
      transition: { duration: 0 },
    };
  }

  function plotSize(element, figure) {
    return [Math.max(200, Math.round(element.clientWidth) - 60), figure.height - 80];
  }

  function refresh(element, figure) {
    const range = element.layout.xaxis.range.map(Number);
    const [width, height] = plotSize(element, figure);
    const places = [], x = [], y = [];
    element.data.forEach((trace, index) => {
      const series = figure.series[trace.meta];
      if (!isThinned(series)) return;
      const points = visiblePoints(series, range[0], range[1], width, height);
      places.push(index);
      x.push(points.x);
      y.push(points.y);
    });
    if (places.length) Plotly.restyle(element, { x, y }, places);
  }

  function draw(element) {
    if (drawn.has(element)) return;
    const figure = JSON.parse(element.nextElementSibling.textContent);
    for (const series of figure.series) {
      for (const column of ["x", "y", "upper"]) if (series[column]) series[column] = decode(series[column]);
    }
    figure.shown = figure.series.map((series) => series.shown);
    const everything = figure.series.map(() => true);
    figure.home = { x: extent(figure, "x", everything), y: extent(figure, "y", figure.shown) };
    drawn.set(element, figure);
    const [width, height] = plotSize(element, figure);
    element.replaceChildren();
    Plotly.newPlot(element, traces(figure, figure.home.x, width, height), layout(element, figure), {
      responsive: true, displaylogo: false, doubleClick: "reset",
      modeBarButtons: [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]],
      toImageButtonOptions: { filename: element.dataset.name || "figure", scale: 2 },
    });
    element.on("plotly_relayout", (change) => {
      if (Object.keys(change).some((key) => key.startsWith("xaxis.range"))) refresh(element, figure);
    });
    element.on("plotly_restyle", ([change]) => {
      if (!("visible" in change)) return;
      for (const trace of element.data) figure.shown[trace.meta] = trace.visible !== "legendonly";
      const now = element.layout.yaxis.range;
      const untouched = now[0] === figure.home.y[0] && now[1] === figure.home.y[1];
      figure.home.y = extent(figure, "y", figure.shown);
      if (untouched) Plotly.relayout(element, { "yaxis.range": figure.home.y.slice() });
    });
  }

  function drawVisible(root) {
    for (const element of root.querySelectorAll(".plot-area")) {
      if (!element.closest("details:not([open])")) draw(element);
    }
  }

  function recolor() {
    for (const [element, figure] of drawn) {
      const [width, height] = plotSize(element, figure);
      Plotly.react(element, traces(figure, figure.home.x, width, height), layout(element, figure));
    }
  }

  DARK.addEventListener("change", recolor);
  document.addEventListener("toggle", (event) => { if (event.target.open) drawVisible(event.target); }, true);
  window.cellwindDraw = drawVisible;
})();
