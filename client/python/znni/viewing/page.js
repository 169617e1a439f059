"use strict";

// Cells are numbered [z, y, x]; a volume has those from `first` on. Levels are 0 to 255, from `low` to `high`.
const {space, volumes} = JSON.parse(document.getElementById("volumes").textContent);
const PLANES = {z: [0, 1, 2], y: [1, 0, 2], x: [2, 0, 1]};  // the axis across, that of rows, that of columns
const BLACK = [36, 39, 45];  // where there is no volume
const shown = {plane: "z", at: {}, opacity: 0.5, colour: [255, 80, 48], channel: {input: 0, output: 0}};
const panes = [];
const element = (id) => document.getElementById(id);
const input = volumes.find((volume) => volume.role === "input");
const output = volumes.find((volume) => volume.role === "output");

function make(kind, parent, properties = {}) {
  const made = Object.assign(document.createElement(kind), properties);
  parent.append(made);
  return made;
}

function channelOf(volume) {
  return volume.channels[shown.channel[volume.role]];
}

function valueOf(channel, level) {
  return channel.low + (channel.high - channel.low) * level / 255;
}

function levelOf(channel, value) {
  return Math.max(0, Math.min(255, Math.round(255 * (value - channel.low) / (channel.high - channel.low))));
}

function text(value) {
  return String(Number(value.toPrecision(4)));
}

function picture(address) {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => resolve(image);
    image.onerror = () => reject(new Error("a picture in it is damaged"));
    image.src = address;
  });
}

// Reads the pictures of a channel into `pixels`, one level a cell.
async function load(volume, channel) {
  const [depth, height, width] = volume.shape;
  const canvas = Object.assign(document.createElement("canvas"), {width, height});
  const context = canvas.getContext("2d", {willReadFrequently: true});
  const pixels = new Uint8Array(depth * height * width);
  for (let z = 0; z < depth; ++z) {
    const image = await picture(channel.slices[z]);
    context.drawImage(image, 0, 0);
    const {data} = context.getImageData(0, 0, width, height);
    for (let at = 0, begin = z * height * width; at < height * width; ++at) pixels[begin + at] = data[4 * at];
  }
  channel.slices = null;
  channel.pixels = pixels;
}

async function show(volume, number) {
  const channel = volume.channels[number];
  channel.loaded ||= load(volume, channel);
  await channel.loaded;
  shown.channel[volume.role] = number;
}

// Returns the level at a cell; -1 where the volume has none.
function levelAt(volume, cell) {
  const [z, y, x] = cell.map((n, axis) => n - volume.first[axis]);
  const [depth, height, width] = volume.shape;
  if (z < 0 || y < 0 || x < 0 || z >= depth || y >= height || x >= width) return -1;
  return channelOf(volume).pixels[(z * height + y) * width + x];
}

function cellAt(row, column) {
  const [across, rows, columns] = PLANES[shown.plane];
  const cell = [0, 0, 0];
  cell[across] = shown.at[shown.plane];
  cell[rows] = row;
  cell[columns] = column;
  return cell;
}

// Returns 0 to 1 for each level: from the window's one end to its other.
function contrast(channel) {
  const [low, high] = channel.window.map((value) => levelOf(channel, value));
  const share = (level) => (level - low) / Math.max(1, high - low);
  return Float32Array.from({length: 256}, (_, level) => Math.max(0, Math.min(1, share(level))));
}

// Returns the levels of a volume in all cells of the plane that is shown, row by row; -1 where it has none.
function sliceOf(volume) {
  const axes = PLANES[shown.plane];
  const [, height, width] = axes.map((axis) => space.count[axis]);
  const found = new Int16Array(height * width).fill(-1);
  const strides = [volume.shape[1] * volume.shape[2], volume.shape[2], 1];
  const [across, rows, columns] = axes.map(
      (axis) => ({first: volume.first[axis], count: volume.shape[axis], stride: strides[axis]}));
  const at = shown.at[shown.plane] - across.first;
  if (at < 0 || at >= across.count) return found;
  const {pixels} = channelOf(volume);
  for (let row = 0; row < rows.count; ++row) {
    const from = at * across.stride + row * rows.stride;
    const to = (row + rows.first) * width + columns.first;
    for (let column = 0; column < columns.count; ++column) found[to + column] = pixels[from + column * columns.stride];
  }
  return found;
}

// Writes grey, and over it the colour of the overlay, the more the greater its value.
function paint(data, [first, second]) {
  const [levels, grey] = [sliceOf(first), contrast(channelOf(first))];
  const [above, over] = second ? [sliceOf(second), contrast(channelOf(second))] : [];
  for (let at = 0; at < levels.length; ++at) {
    const weight = second && above[at] >= 0 ? shown.opacity * over[above[at]] : 0;
    for (let part = 0; part < 3; ++part) {
      const below = levels[at] < 0 ? BLACK[part] : 255 * grey[levels[at]];
      data[4 * at + part] = below * (1 - weight) + shown.colour[part] * weight;
    }
    data[4 * at + 3] = 255;
  }
}

function draw(pane) {
  const [, rows, columns] = PLANES[shown.plane];
  const [height, width] = [space.count[rows], space.count[columns]];
  Object.assign(pane.canvas, {width, height});
  pane.canvas.style.aspectRatio = width * space.step[columns] * space.size[columns] /
                                  (height * space.step[rows] * space.size[rows]);
  const context = pane.canvas.getContext("2d");
  const picture = context.createImageData(width, height);
  paint(picture.data, pane.volumes);
  context.putImageData(picture, 0, 0);
}

// Returns "z 12", or "y 12-15" of cells of several voxels of the input, and where their middle lies. Of several planes
// along z, one is shown.
function placeText(axis, cell) {
  const end = space.begin[axis] + space.extent[axis] - 1;
  const begin = space.begin[axis] + space.step[axis] * cell;
  const first = axis ? begin : Math.min(begin + Math.floor(space.step[axis] / 2), end);
  const last = axis ? Math.min(begin + space.step[axis] - 1, end) : first;
  const place = space.origin[axis] + space.size[axis] * (first + last) / 2;
  const unit = space.units[axis] ? ` (${text(place)} ${space.units[axis]})` : "";
  return `${"zyx"[axis]} ${first}${last > first ? "-" + last : ""}${unit}`;
}

function drawHistogram(volume) {
  const channel = channelOf(volume);
  const canvas = volume.histogram;
  const [width, height] = [canvas.width = 512, canvas.height = 80];
  const context = canvas.getContext("2d");
  const most = Math.log1p(Math.max(1, ...channel.histogram));
  context.fillStyle = "#8ab4e8";
  channel.histogram.forEach((count, bin, {length}) => {
    const bar = height * Math.log1p(count) / most;
    context.fillRect(bin * width / length, height - bar, width / length, bar);
  });
  context.fillStyle = "#f0c060";
  for (const value of channel.window) context.fillRect(levelOf(channel, value) * (width - 2) / 255, 0, 2, height);
}

function drawAll() {
  const axis = PLANES[shown.plane][0];
  const position = element("position");
  position.max = space.count[axis] - 1;
  position.value = shown.at[shown.plane];
  element("where").textContent = placeText(axis, shown.at[shown.plane]);
  panes.forEach(draw);
  for (const volume of volumes) {
    drawHistogram(volume);
    const channel = channelOf(volume);
    volume.ends.forEach(({slider, label}, end) => {
      slider.value = levelOf(channel, channel.window[end]);
      label.textContent = `${end ? "white" : "black"} ${text(channel.window[end])}`;
    });
  }
}

function move(steps) {
  const last = space.count[PLANES[shown.plane][0]] - 1;
  shown.at[shown.plane] = Math.max(0, Math.min(last, shown.at[shown.plane] + steps));
  drawAll();
}

function tell(pane, event) {
  const box = pane.canvas.getBoundingClientRect();
  const row = Math.floor((event.clientY - box.top) / box.height * pane.canvas.height);
  const column = Math.floor((event.clientX - box.left) / box.width * pane.canvas.width);
  const cell = cellAt(row, column);
  const values = volumes.map((volume) => {
    const level = levelAt(volume, cell);
    return `${volume.role} ${level < 0 ? "none" : text(valueOf(channelOf(volume), level))}`;
  });
  element("under").textContent = [...cell.map((n, axis) => placeText(axis, n)), ...values].join(", ");
}

function addPane(name, ...parts) {
  const figure = make("figure", element("panes"), {className: "pane"});
  make("figcaption", figure, {textContent: name});
  const pane = {canvas: make("canvas", figure, {id: name}), volumes: parts};
  pane.canvas.addEventListener("mousemove", (event) => tell(pane, event));
  pane.canvas.addEventListener("wheel", (event) => { event.preventDefault(); move(Math.sign(event.deltaY)); });
  panes.push(pane);
}

function addLevels(volume) {
  const section = make("section", element("levels"));
  make("h2", section, {textContent: `values of the ${volume.role} (counts as logarithms)`});
  volume.histogram = make("canvas", section, {id: `${volume.role}-histogram`});
  volume.ends = ["low", "high"].map((name, end) => {
    const row = make("label", section);
    const label = make("span", row);
    const slider = make("input", row, {id: `${volume.role}-${name}`, type: "range", min: 0, max: 255, step: 1});
    slider.addEventListener("input", () => {
      channelOf(volume).window[end] = valueOf(channelOf(volume), Number(slider.value));
      drawAll();
    });
    return {slider, label};
  });
}

function addChannels(select, volume) {
  const menu = element(select);
  volume?.channels.forEach(({number}, at) => make("option", menu, {value: at, textContent: number}));
  if (!volume || volume.channels.length < 2) menu.parentElement.style.display = "none";
  menu.addEventListener("change", async () => {
    await show(volume, Number(menu.value));
    drawAll();
  });
}

function listen() {
  element("position").addEventListener("input", (event) => {
    shown.at[shown.plane] = Number(event.target.value);
    drawAll();
  });
  element("plane").addEventListener("change", (event) => {
    shown.plane = event.target.value;
    drawAll();
  });
  element("opacity").addEventListener("input", (event) => {
    shown.opacity = Number(event.target.value) / 100;
    drawAll();
  });
  element("colour").addEventListener("input", (event) => {
    shown.colour = [1, 3, 5].map((at) => parseInt(event.target.value.slice(at, at + 2), 16));
    drawAll();
  });
  const steps = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10};
  document.addEventListener("keydown", (event) => {
    if (!(event.key in steps) || ["INPUT", "SELECT"].includes(event.target.tagName)) return;
    event.preventDefault();
    move(steps[event.key]);
  });
}

async function begin() {
  for (const [plane, [across]] of Object.entries(PLANES)) {
    const {first, shape} = output;
    shown.at[plane] = first[across] + Math.floor(shape[across] / 2);
  }
  if (input) addPane("input", input);
  addPane("output", output);
  if (input) addPane("overlay", input, output);
  else for (const id of ["opacities", "colours"]) element(id).style.display = "none";
  volumes.forEach(addLevels);
  addChannels("channel", output);
  addChannels("input-channel", input);
  listen();
  await Promise.all(volumes.map((volume) => show(volume, 0)));
  drawAll();
  document.body.dataset.ready = "yes";
}

begin().catch((error) => {
  make("p", document.body, {className: "warning", textContent: `This page cannot be shown here: ${error}`});
});
